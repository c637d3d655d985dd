// The table of tenants for Sequelize. It must never change the slug of a row.
import { DataTypes, type Model, type ModelStatic, type Sequelize } from 'sequelize';
import type { TenantRecord } from './tenant.ts';

type Creation = Omit<TenantRecord, 'createdAt' | 'updatedAt' | 'suspendedAt' | 'resumedAt'>;

export type TenantModel = ModelStatic<Model<TenantRecord, Creation>>;

/** Defines the model on this connection; calling it again gives the same table. */
export function defineTenantModel(sequelize: Sequelize): TenantModel {
  return sequelize.define<Model<TenantRecord, Creation>>('tenants', {
    id: { type: DataTypes.UUID, primaryKey: true },
    slug: { type: DataTypes.TEXT, allowNull: false },
    name: { type: DataTypes.TEXT, allowNull: false },
    audience: DataTypes.TEXT,
    signingAlgorithm: { type: DataTypes.TEXT, allowNull: false },
    baseUrl: { type: DataTypes.TEXT, allowNull: false },
    issuerUrl: { type: DataTypes.TEXT, allowNull: false },
    suspendedAt: DataTypes.DATE(3),
    resumedAt: DataTypes.DATE(3),
    createdAt: DataTypes.DATE(3),
    updatedAt: DataTypes.DATE(3),
  });
}
