// A Vite plugin that counts which branches of our code run, and notes what is compared. The fuzzer is guided by both.
import { parseAst } from 'vitest/node';

type Node = {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
};

/** What instrumented code writes to; `fuzzer.ts` makes it before any parser is loaded. */
export type Trace = {
  /** How often each branch ran, up to 255; branches with the same number share a counter. */
  readonly counts: Uint8Array;
  /** Notes two texts that were compared and differ, so that one can be put in the place of the other. */
  same(left: unknown, right: unknown): boolean;
};

export const BRANCHES = 16_384;

/** Instruments the files below these folders, after TypeScript is gone. */
export function countBranches(folders: readonly string[]) {
  let next = 0;
  return {
    name: 'count-branches',
    enforce: 'post' as const,
    transform(code: string, id: string) {
      if (!folders.some((folder) => id.startsWith(folder)) || !/\.[mt]s$/.test(id)) return undefined;
      return { code: instrument(code, () => next++ % BRANCHES), map: null };
    },
  };
}

/** Puts counters into every function, branch, loop and alternative, and `same` in the place of `===`. */
export function instrument(code: string, number: () => number): string {
  const edits: { at: number; text: string }[] = [];
  const insert = (at: number, text: string) => edits.push({ at, text });
  const count = () => `__trace.counts[${number()}]++`;

  const visit = (node: Node, enter: string, leave: string) => {
    insert(node.start, enter);
    visitChild(node);
    insert(node.end, leave);
  };
  const countExpression = (node: Node) => visit(node, `(${count()},`, ')');
  const countStatement = (node: Node) => {
    if (node.type !== 'BlockStatement') return visit(node, `{${count()};`, '}');
    insert(node.start + 1, `${count()};`);
    walk(node);
  };

  const counted: Readonly<Record<string, readonly string[]>> = {
    FunctionDeclaration: ['body'],
    FunctionExpression: ['body'],
    ArrowFunctionExpression: ['body'],
    IfStatement: ['consequent', 'alternate'],
    ConditionalExpression: ['consequent', 'alternate'],
    LogicalExpression: ['right'],
    AssignmentPattern: ['right'],
    ForStatement: ['body'],
    ForOfStatement: ['body'],
    ForInStatement: ['body'],
    WhileStatement: ['body'],
    DoWhileStatement: ['body'],
    CatchClause: ['body'],
  };
  const isStatement = (node: Node) => node.type.endsWith('Statement');

  const walk = (node: Node) => {
    if (node.type === 'SwitchCase') {
      const [first] = node.consequent as Node[];
      if (first !== undefined) insert(first.start, `${count()};`);
    }
    const names = counted[node.type] ?? [];
    for (const [name, value] of Object.entries(node)) {
      for (const child of Array.isArray(value) ? value : [value]) {
        if (!isNode(child)) continue;
        if (names.includes(name)) (isStatement(child) ? countStatement : countExpression)(child);
        else visitChild(child);
      }
    }
  };
  const visitChild = (node: Node) => {
    const { operator, left, right } = node;
    if (node.type !== 'BinaryExpression' || (operator !== '===' && operator !== '!==')) return walk(node);
    if (!isNode(left) || !isNode(right) || left.type === 'UnaryExpression') return walk(node);
    insert(node.start, operator === '===' ? '__trace.same(' : '!__trace.same(');
    visitChild(left);
    // Parentheses around the operands are outside their ranges, so the operator is found between them by its text.
    const between = code.slice(left.end, right.start);
    edits.push({ at: left.end + between.indexOf(operator as string), text: ',/*' });
    edits.push({ at: left.end + between.indexOf(operator as string) + 3, text: '*/' });
    visitChild(right);
    insert(node.end, ')');
  };

  for (const statement of (parseAst(code) as unknown as { body: Node[] }).body) visitChild(statement);
  return splice(code, edits);
}

/** Insertions at one place stay in the order in which they were made. */
function splice(code: string, edits: readonly { at: number; text: string }[]): string {
  let from = 0;
  let result = '';
  for (const { at, text } of edits.toSorted((a, b) => a.at - b.at)) {
    result += code.slice(from, at) + text;
    from = at;
  }
  return result + code.slice(from);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}
