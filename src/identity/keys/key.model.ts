// The Sequelize model of the table `agent_keys`. Columns and defaults are the migration's; nothing else may be decided here.
import { DataTypes, type Model, type ModelStatic, type Sequelize } from 'sequelize';
import type { AgentKey } from './key.ts';

export type KeyRow = AgentKey & {
  readonly aliases: readonly string[];
  readonly deprecatedAt: Date | null;
  readonly revokedReason: string | null;
  /** When the key answered its first challenge. */
  readonly firstUsedAt: Date | null;
};
export type NewKeyRow = Pick<
  KeyRow,
  | 'id'
  | 'tenantId'
  | 'agentId'
  | 'algorithm'
  | 'publicKey'
  | 'fingerprint'
  | 'aliases'
  | 'jwkThumbprint'
  | 'label'
>;
export type KeyModel = ModelStatic<Model<KeyRow, NewKeyRow>>;

/** Defines the model on a Sequelize instance; attributes are camelCase, columns snake_case. */
export function defineKeyModel(sequelize: Sequelize): KeyModel {
  return sequelize.define<Model<KeyRow, NewKeyRow>>('agent_keys', {
    id: { type: DataTypes.UUID, primaryKey: true },
    tenantId: { type: DataTypes.UUID, allowNull: false },
    agentId: { type: DataTypes.UUID, allowNull: false },
    algorithm: { type: DataTypes.TEXT, allowNull: false },
    publicKey: { type: DataTypes.BLOB, allowNull: false },
    fingerprint: { type: DataTypes.TEXT, allowNull: false },
    aliases: { type: DataTypes.ARRAY(DataTypes.TEXT), allowNull: false },
    jwkThumbprint: DataTypes.TEXT,
    label: DataTypes.TEXT,
    state: DataTypes.TEXT,
    verifiedAt: DataTypes.DATE(3),
    deprecatedAt: DataTypes.DATE(3),
    sunsetAt: DataTypes.DATE(3),
    revokedAt: DataTypes.DATE(3),
    revokedReason: DataTypes.TEXT,
    firstUsedAt: DataTypes.DATE(3),
    lastUsedAt: DataTypes.DATE(3),
    createdAt: DataTypes.DATE(3),
  });
}
