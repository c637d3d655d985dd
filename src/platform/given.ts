// The type of fields that a request may leave out.

/** The same fields, each of which may be absent or undefined. */
export type Given<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined };
