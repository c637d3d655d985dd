// The Sequelize model of the table `trusted_issuers`. Columns and defaults are the migration's; nothing else may be decided here.
import { DataTypes, type Model, type ModelStatic, type Sequelize } from 'sequelize';
import type { TrustedIssuer } from './trusted-issuer.ts';

export type NewTrustedIssuerRow = Omit<TrustedIssuer, 'createdAt' | 'updatedAt'>;
export type TrustedIssuerModel = ModelStatic<Model<TrustedIssuer, NewTrustedIssuerRow>>;

/** Defines the model on a Sequelize instance; attributes are camelCase, columns snake_case. */
export function defineTrustedIssuerModel(sequelize: Sequelize): TrustedIssuerModel {
  return sequelize.define('trusted_issuers', {
    id: { type: DataTypes.UUID, primaryKey: true },
    tenantId: { type: DataTypes.UUID, allowNull: false },
    issuer: { type: DataTypes.TEXT, allowNull: false },
    jwksUri: DataTypes.TEXT,
    jwks: DataTypes.JSONB,
    audiences: { type: DataTypes.ARRAY(DataTypes.TEXT), allowNull: false },
    createdAt: DataTypes.DATE(3),
    updatedAt: DataTypes.DATE(3),
  });
}
