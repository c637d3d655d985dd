// Makes answers from values: the schema of an answer decides which fields it has; other fields of a value are left out.
import { type ZodType, z } from 'zod';
import { type CamelCase, camelCase } from './field-names.ts';

/**
 * The type of a value in code that can be shown as the API type `Shown`: a Date where the API has the text of a
 * timestamp, a readonly list where it has a list, and camelCase names of fields.
 */
type Source<Shown> = Shown extends string
  ? Shown | (string extends Shown ? Date : never)
  : Shown extends readonly (infer Item)[]
    ? readonly Source<Item>[]
    : Shown extends object
      ? string extends keyof Shown
        ? object
        : Fields<Shown>
      : Shown;

type Fields<Shown> = { readonly [Name in keyof Shown as CamelCase<Name>]: Source<Shown[Name]> };

/** Fields by their names in the answer. */
type Extra<Shown> = { readonly [Name in keyof Shown]?: Source<Shown[Name]> | Shown[Name] };

type Show = (value: unknown, extra?: Readonly<Record<string, unknown>>) => unknown;

/** One function for each schema, made when it is first used. */
const shows = new WeakMap<ZodType, Show>();

const showAsIs: Show = (value) => value;

/**
 * Shows a value as the schema of its answer says: its fields and no others, named as the answer names them, timestamps
 * in ISO 8601; the same for objects and lists inside of it. Records and unions are shown as they are.
 * @param value its fields by their names in code
 * @param extra fields that the value lacks, or has in another form, by their names in the answer
 */
export function present<
  Schema extends z.ZodObject,
  const Given extends Extra<z.input<Schema>> = Record<never, never>,
>(
  schema: Schema,
  value: Fields<Omit<z.input<Schema>, keyof Given>>,
  extra?: Given & { readonly [Unknown in Exclude<keyof Given, keyof z.input<Schema>>]: never },
): z.input<Schema> {
  return showOf(schema)(value, extra) as z.input<Schema>;
}

function showOf(schema: ZodType): Show {
  const known = shows.get(schema);
  if (known !== undefined) return known;
  const show = compile(schema);
  shows.set(schema, show);
  return show;
}

function compile(schema: ZodType): Show {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return showOf(schema.unwrap() as ZodType);
  if (schema instanceof z.ZodISODateTime) return showTime;
  if (schema instanceof z.ZodArray) return showList(showOf(schema.element as ZodType));
  if (schema instanceof z.ZodObject) return showObject(schema);
  return showAsIs;
}

function showTime(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value;
}

function showList(show: Show): Show {
  return show === showAsIs
    ? showAsIs
    : (value) => (Array.isArray(value) ? value.map((item) => show(item)) : value);
}

function showObject(schema: z.ZodObject): Show {
  const fields = Object.entries(schema.shape).map(([name, inner]) => ({
    name,
    key: camelCase(name),
    show: showOf(inner as ZodType),
  }));
  return (value, extra) => {
    if (typeof value !== 'object' || value === null) return value;
    const source = value as Readonly<Record<string, unknown>>;
    const shown: Record<string, unknown> = {};
    for (const { name, key, show } of fields) {
      let found = extra?.[name];
      if (found === undefined) found = source[name];
      if (found === undefined) found = source[key];
      if (found !== undefined) shown[name] = show(found);
    }
    return shown;
  };
}
