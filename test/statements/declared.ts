// What the sources declare of each statement: the members of its rows, and its parameters, by the types of TypeScript.
import { relative } from 'node:path';
import ts from 'typescript-5';

/** The kinds of a value in JavaScript, such as `string` or `Date`; `other` fits anything. */
export type Declared = { readonly kinds: readonly string[]; readonly isNullable: boolean };

export type DeclaredStatement = {
  /** Where it is made: `src/….ts:12`. */
  readonly place: string;
  readonly form: string;
  /** Undefined where the answer has no rows. */
  readonly row: Readonly<Record<string, Declared>> | undefined;
  /** What the one column of the one row is. */
  readonly value: Declared | undefined;
  /** Undefined where the number of parameters is not fixed. */
  readonly values: readonly Declared[] | undefined;
};

const WITH_ROWS = ['many', 'one', 'only', 'paged'];
const FORMS = [...WITH_ROWS, 'value', 'done', 'changed', 'counted'];

/** Of a list in pages: the cursor, and how many rows are read. */
const PAGE: readonly Declared[] = [
  { kinds: ['string'], isNullable: true },
  { kinds: ['number'], isNullable: false },
];

/** Reads the statements of the files of a program. @param isRead which files */
export function readDeclared(program: ts.Program, isRead: (path: string) => boolean): DeclaredStatement[] {
  const checker = program.getTypeChecker();
  const found: DeclaredStatement[] = [];
  for (const source of program.getSourceFiles()) {
    const path = relative(process.cwd(), source.fileName);
    if (!isRead(path)) continue;
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node) && isForm(node.expression, checker)) {
        const { line } = source.getLineAndCharacterOfPosition(node.expression.getStart());
        found.push(declaredBy(checker, node, `${path}:${line + 1}`));
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found;
}

/** A name that is imported from statements.ts. */
function isForm(node: ts.Expression, checker: ts.TypeChecker): boolean {
  if (!ts.isIdentifier(node) || !FORMS.includes(node.text)) return false;
  const [declaration] = checker.getSymbolAtLocation(node)?.declarations ?? [];
  return (
    declaration !== undefined &&
    ts.isImportSpecifier(declaration) &&
    declaration.parent.parent.parent.moduleSpecifier.getText().includes('/statements.ts')
  );
}

function declaredBy(checker: ts.TypeChecker, call: ts.CallExpression, place: string): DeclaredStatement {
  const form = (call.expression as ts.Identifier).text;
  const types = (call.typeArguments ?? []).map((node) => checker.getTypeFromTypeNode(node));
  const hasRow = WITH_ROWS.includes(form);
  const row = hasRow ? types[0] : undefined;
  const values = types[hasRow || form === 'value' ? 1 : 0];
  const own = valuesOf(checker, values);
  return {
    place,
    form,
    row: row && membersOf(checker, row, call),
    value: form === 'value' && types[0] !== undefined ? declare(checker, types[0]) : undefined,
    values: own && (form === 'paged' ? [...PAGE, ...own] : own),
  };
}

function membersOf(checker: ts.TypeChecker, row: ts.Type, at: ts.Node): Record<string, Declared> {
  // A union of rows: a member may have the types of each.
  const members: Record<string, Declared> = {};
  for (const form of row.isUnion() ? row.types : [row])
    for (const property of checker.getPropertiesOfType(form)) {
      const declared = declare(checker, checker.getTypeOfSymbolAtLocation(property, at));
      const known = members[property.name];
      members[property.name] =
        known === undefined
          ? declared
          : {
              kinds: [...new Set([...known.kinds, ...declared.kinds])],
              isNullable: known.isNullable || declared.isNullable,
            };
    }
  return members;
}

function valuesOf(checker: ts.TypeChecker, values: ts.Type | undefined): readonly Declared[] | undefined {
  if (values === undefined) return [];
  if (!checker.isTupleType(values)) return undefined;
  const { target } = values as ts.TupleTypeReference;
  if (target.hasRestElement) return undefined;
  // One that a call may leave out is not sent, and Postgres wants all.
  const sent = checker.getTypeArguments(values as ts.TypeReference).slice(0, target.minLength);
  return sent.map((type) => declare(checker, type));
}

function declare(checker: ts.TypeChecker, type: ts.Type): Declared {
  const parts = type.isUnion() ? type.types : [type];
  const nothing = ts.TypeFlags.Null | ts.TypeFlags.Undefined;
  const kinds = new Set(
    parts.filter(({ flags }) => (flags & nothing) === 0).map((part) => kindOf(checker, part)),
  );
  return { kinds: [...kinds].sort(), isNullable: parts.some(({ flags }) => (flags & nothing) !== 0) };
}

function kindOf(checker: ts.TypeChecker, type: ts.Type): string {
  if (type.flags & ts.TypeFlags.StringLike) return 'string';
  if (type.flags & ts.TypeFlags.NumberLike) return 'number';
  if (type.flags & ts.TypeFlags.BooleanLike) return 'boolean';
  if (checker.isArrayType(type) || checker.isTupleType(type)) {
    const [item] = checker.getTypeArguments(type as ts.TypeReference);
    return item === undefined ? 'array' : `${declare(checker, item).kinds.join('|')}[]`;
  }
  if (type.flags & ts.TypeFlags.Unknown) return 'other';
  const name = type.getSymbol()?.name ?? '';
  if (name === 'Date') return 'Date';
  if (name === 'Buffer' || name === 'Uint8Array') return 'bytes';
  // A branded text, such as `string & { … }`.
  if (type.isIntersection() && type.types.some(({ flags }) => flags & ts.TypeFlags.StringLike))
    return 'string';
  return 'object';
}
