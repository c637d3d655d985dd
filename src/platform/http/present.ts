// Converts values to answers. The schema of an answer decides its fields; other fields of a value are left out.
import { type ZodType, z } from 'zod';
import { type CamelCase, camelCase } from './field-names.ts';

/**
 * The type of a value in code that can be shown as the API type `Shown`: a Date for a timestamp, a readonly list for a
 * list, and camelCase names of fields.
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

type Extra<Shown> = { readonly [Name in keyof Shown]?: Source<Shown[Name]> | Shown[Name] };

type Show = (value: unknown, extra?: Readonly<Record<string, unknown>>) => unknown;

const shows = new WeakMap<ZodType, Show>();

const showAsIs: Show = (value) => value;

/**
 * Converts a value by the schema of its answer: only the fields of the schema, with their API names, and timestamps in
 * ISO 8601. Objects and lists inside the value are converted too, records and unions are not.
 * @param value its fields have their names in code
 * @param extra fields that the value lacks or has in another form, with their API names
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
