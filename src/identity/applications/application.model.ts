// The table of applications for Sequelize. Secrets have no model: they must be read by their own statements only.
import { DataTypes, type Model, type ModelStatic, type Sequelize } from 'sequelize';
import type { Application } from './application.ts';

export type ApplicationRow = Application & { readonly deletedAt: Date | null };
type NewApplication = Omit<ApplicationRow, 'createdAt' | 'updatedAt' | 'deletedAt'>;

export type ApplicationModel = ModelStatic<Model<ApplicationRow, NewApplication>>;

/** Defines `applications` on this connection. */
export function defineApplicationModel(sequelize: Sequelize): ApplicationModel {
  return sequelize.define<Model<ApplicationRow, NewApplication>>('applications', {
    id: { type: DataTypes.UUID, primaryKey: true },
    tenantId: { type: DataTypes.UUID, allowNull: false },
    name: { type: DataTypes.TEXT, allowNull: false },
    audience: DataTypes.TEXT,
    scopes: { type: DataTypes.ARRAY(DataTypes.TEXT), allowNull: false },
    grantTypes: { type: DataTypes.ARRAY(DataTypes.TEXT), allowNull: false },
    agentId: DataTypes.UUID,
    jwks: DataTypes.JSONB,
    createdAt: DataTypes.DATE(3),
    updatedAt: DataTypes.DATE(3),
    deletedAt: DataTypes.DATE(3),
  });
}
