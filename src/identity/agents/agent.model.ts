// The Sequelize model of the table `agents`. Columns and defaults are the migration's; nothing else may be decided here.
import { DataTypes, type Model, type ModelStatic, type Sequelize } from 'sequelize';
import type { AgentRecord } from './agent.ts';

export type AgentRow = AgentRecord & { readonly deletedAt: Date | null };
export type NewAgentRow = Pick<
  AgentRecord,
  | 'id'
  | 'tenantId'
  | 'name'
  | 'description'
  | 'capabilities'
  | 'audience'
  | 'audiences'
  | 'scopes'
  | 'metadata'
>;
export type AgentModel = ModelStatic<Model<AgentRow, NewAgentRow>>;

/** Defines the model on a Sequelize instance; attributes are camelCase, columns snake_case. */
export function defineAgentModel(sequelize: Sequelize): AgentModel {
  return sequelize.define('agents', {
    id: { type: DataTypes.UUID, primaryKey: true },
    tenantId: { type: DataTypes.UUID, allowNull: false },
    name: { type: DataTypes.TEXT, allowNull: false },
    description: DataTypes.TEXT,
    capabilities: { type: DataTypes.ARRAY(DataTypes.TEXT), allowNull: false },
    status: DataTypes.TEXT,
    audience: DataTypes.TEXT,
    audiences: { type: DataTypes.ARRAY(DataTypes.TEXT), allowNull: false },
    scopes: { type: DataTypes.ARRAY(DataTypes.TEXT), allowNull: false },
    metadata: { type: DataTypes.JSONB, allowNull: false },
    createdAt: DataTypes.DATE(3),
    updatedAt: DataTypes.DATE(3),
    deletedAt: DataTypes.DATE(3),
  });
}
