// The functions of Sequelize's models that the store files call. A call on a transaction runs in it. All return plain
// rows.
import type {
  FindOptions,
  fn,
  LOCK,
  literal,
  ModelStatic,
  Sequelize,
  Model as SequelizeModel,
  Transaction as SequelizeTransaction,
  WhereOptions,
} from 'sequelize';
import { translateDatabaseError } from './errors.ts';
import { type Page, type PageRequest, toPage } from './page.ts';
import { loadSequelize } from './sequelize.ts';
import type { NewRowOf, RowOf, Table } from './table.ts';

/** The time of the database at the beginning of the transaction. */
export const NOW = Object.freeze({ function: 'now' } as const);

export type Changes<T extends Table> = {
  readonly [Name in keyof RowOf<T>]?: RowOf<T>[Name] | ReturnType<typeof fn | typeof literal> | typeof NOW;
};

export type Where<T extends Table> = WhereOptions<RowOf<T>>;

type Extras = Pick<FindOptions, 'order' | 'limit' | 'attributes'>;

/**
 * The locks that a lock on a row excludes: all (`UPDATE`), all except references to the row (`NO KEY UPDATE`), or
 * changes only (`KEY SHARE`).
 */
export type LockLevel = 'UPDATE' | 'NO KEY UPDATE' | 'KEY SHARE';

/** Models either on the database, where each call is a separate transaction, or on an open transaction. */
export type Models = { model<T extends Table>(table: T): Model<T> };

/** The calls on one table. All throw ServiceError `temporarily_unavailable` when the database is down. */
export type Model<T extends Table> = {
  find(where: Where<T>, extras?: Pick<Extras, 'attributes'>): Promise<RowOf<T> | undefined>;
  /** Locks the row until the end of the transaction. */
  lock(where: Where<T>, level: LockLevel, extras?: Pick<Extras, 'attributes'>): Promise<RowOf<T> | undefined>;
  list(options: Extras & { where?: Where<T> }): Promise<RowOf<T>[]>;
  /**
   * One page, the newest id first. @throws ServiceError `invalid_request` for a cursor that this service did not make
   */
  page(
    where: Where<T>,
    request: PageRequest,
    extras?: Pick<Extras, 'attributes'>,
  ): Promise<Page<RowOf<T> & { readonly id: string }>>;
  insert(row: NewRowOf<T>): Promise<RowOf<T>>;
  update(where: Where<T>, changes: Changes<T>): Promise<RowOf<T>[]>;
  /** Changes a row that the transaction has locked. @returns the changed row */
  change(id: string, changes: Changes<T>): Promise<RowOf<T>>;
  remove(where: Where<T>): Promise<void>;
};

/** Makes Sequelize's models of tables, each at its first use. */
export function createModels(open: () => Sequelize) {
  const defined = new Map<Table, ModelStatic<SequelizeModel>>();
  return <T extends Table>(table: T, transaction: SequelizeTransaction | null): Model<T> => {
    let model = defined.get(table);
    if (model === undefined) {
      model = define(open(), table);
      defined.set(table, model);
    }
    return bind<T>(model, transaction);
  };
}

export type ModelsOf = ReturnType<typeof createModels>;

function define(sequelize: Sequelize, { name, columns }: Table): ModelStatic<SequelizeModel> {
  const { DataTypes } = loadSequelize();
  const attributes = Object.entries(columns).map(([attribute, { typeOf, isNullable, isGiven, isKey }]) => [
    attribute,
    // A column that the database fills in counts as nullable, because Sequelize would otherwise require its value.
    { type: typeOf(DataTypes), allowNull: isNullable || isGiven, primaryKey: isKey },
  ]);
  return sequelize.define(name, Object.fromEntries(attributes));
}

function bind<T extends Table>(
  model: ModelStatic<SequelizeModel>,
  transaction: SequelizeTransaction | null,
): Model<T> {
  type Row = RowOf<T>;
  const { fn, Op } = loadSequelize();
  const rowOf = (instance: SequelizeModel) => instance.get({ plain: true }) as Row;
  const read = async (options: FindOptions) =>
    (await model.findAll({ ...options, transaction, raw: true }).catch(refuse)) as unknown as Row[];
  const update = async (where: WhereOptions, changes: Changes<T>) => {
    const values = Object.entries(changes).map(([name, value]) => [name, value === NOW ? fn('now') : value]);
    const [, rows] = await model
      .update(Object.fromEntries(values), { where, transaction, returning: true })
      .catch(refuse);
    return rows.map(rowOf);
  };

  return {
    list: read,
    find: async (where, extras) => (await read({ ...extras, where, limit: 1 }))[0],
    lock: async (where, level, extras) => (await read({ ...extras, where, lock: level as LOCK }))[0],
    page: async (where, { limit, cursor }, extras) => {
      const rows = await read({
        ...extras,
        where: cursor === undefined ? where : { [Op.and]: [where, { id: { [Op.lt]: cursor } }] },
        order: [['id', 'DESC']],
        limit: limit + 1,
      });
      return toPage(rows as (Row & { readonly id: string })[], limit);
    },
    insert: async (row) => rowOf(await model.create({ ...row }, { transaction }).catch(refuse)),
    update,
    change: async (id, changes) => {
      const [row] = await update({ id }, changes);
      if (row === undefined) throw new Error(`${model.getTableName()} ${id} vanished although it was locked`);
      return row;
    },
    remove: async (where) => {
      await model.destroy({ where, transaction }).catch(refuse);
    },
  };
}

type Asked<Conditions> = { [Name in keyof Conditions]?: Exclude<Conditions[Name], undefined> };

/** The conditions that a request sets; omitted fields are removed. */
export function asked<Conditions extends object>(conditions: Conditions): Asked<Conditions> {
  const set = Object.entries(conditions).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as Asked<Conditions>;
}

function refuse(error: unknown): never {
  throw translateDatabaseError(error);
}
