// The Sequelize model of the table `subscriptions`. Columns and defaults are the migration's; nothing else may be decided here.
import { DataTypes, type Model, type ModelStatic, type Sequelize } from 'sequelize';
import type { SubscriptionRecord } from './subscription.ts';

export type NewSubscriptionRow = Omit<
  SubscriptionRecord,
  'secretOverlapEndsAt' | 'disabledReason' | 'createdAt' | 'updatedAt' | 'deletedAt'
>;
export type SubscriptionModel = ModelStatic<Model<SubscriptionRecord, NewSubscriptionRow>>;

/** Defines the model on a Sequelize instance; attributes are camelCase, columns snake_case. */
export function defineSubscriptionModel(sequelize: Sequelize): SubscriptionModel {
  return sequelize.define('subscriptions', {
    id: { type: DataTypes.UUID, primaryKey: true },
    tenantId: { type: DataTypes.UUID, allowNull: false },
    url: { type: DataTypes.TEXT, allowNull: false },
    host: { type: DataTypes.TEXT, allowNull: false },
    eventTypes: { type: DataTypes.ARRAY(DataTypes.TEXT), allowNull: false },
    filters: { type: DataTypes.ARRAY(DataTypes.TEXT), allowNull: false },
    description: DataTypes.TEXT,
    sink: { type: DataTypes.TEXT, allowNull: false },
    secretSealed: { type: DataTypes.BLOB, allowNull: false },
    secretOverlapEndsAt: DataTypes.DATE(3),
    headersSealed: DataTypes.BLOB,
    maxAge: { type: DataTypes.INTEGER, allowNull: false },
    rateLimit: DataTypes.INTEGER,
    retryPolicy: DataTypes.JSONB,
    disableAfterDays: { type: DataTypes.INTEGER, allowNull: false },
    disabledReason: DataTypes.TEXT,
    createdAt: DataTypes.DATE(3),
    updatedAt: DataTypes.DATE(3),
    deletedAt: DataTypes.DATE(3),
  });
}
