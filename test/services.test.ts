// Services have one form, with which an editor shows text and definition of a function where it is called.
import { readdirSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import ts from 'typescript-5';
import { beforeAll, describe, expect, it } from 'vitest';

/** What calls services, but for the roof and the wiring, whose types are those of the whole house. */
const SOURCES = ['src', 'activities']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(
      (file) => `${folder}/${file.replaceAll('\\', '/')}`,
    ),
  )
  .filter((file) => file.endsWith('.ts') && !/^src\/(app|console)\/|\/wire[\w-]*\.ts$/.test(file))
  .sort();
const SERVICES = SOURCES.filter((file) => file.endsWith('.service.ts'));

const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.');

/** The language service of an editor, over all sources. */
const editor = ts.createLanguageService({
  getScriptFileNames: () => SOURCES.map((file) => resolve(file)),
  getScriptVersion: () => '1',
  getScriptSnapshot: (file) => {
    const text = ts.sys.readFile(file);
    return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
  },
  getCurrentDirectory: () => resolve('.'),
  getCompilationSettings: () => options,
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  fileExists: ts.sys.fileExists,
  readFile: ts.sys.readFile,
  directoryExists: ts.sys.directoryExists,
});

const parsed = (file: string): ts.SourceFile => {
  const source = editor.getProgram()?.getSourceFile(resolve(file));
  if (source === undefined) throw new Error(`the program lacks ${file}`);
  return source;
};

const placeOf = (file: string, node: ts.Node): string =>
  `${file}:${parsed(file).getLineAndCharacterOfPosition(node.getStart()).line + 1}`;

const isExported = (node: ts.Statement): boolean =>
  ts.canHaveModifiers(node) &&
  !!ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);

const classesOf = (file: string): ts.ClassDeclaration[] =>
  parsed(file).statements.filter(ts.isClassDeclaration);

/** @returns whether it makes a service of another form, whose type is what it returns */
const isFactory = (node: ts.Statement): boolean =>
  ts.isFunctionDeclaration(node) &&
  isExported(node) &&
  node.type === undefined &&
  /^create[A-Z]/.test(node.name?.text ?? '');

/** A public function of a service with a text; `at` is the place of the function itself. */
type Documented = {
  readonly name: string;
  readonly text: string;
  readonly file: string;
  readonly at: number;
};

const documentedIn = (file: string): Documented[] =>
  classesOf(file)
    .flatMap(({ members }) => [...members])
    .flatMap((member) => {
      if (!ts.isPropertyDeclaration(member) || !ts.isIdentifier(member.name)) return [];
      const [doc] = ts.getJSDocCommentsAndTags(member).filter(ts.isJSDoc);
      const text = ts.getTextOfJSDocComment(doc?.comment);
      if (!text || member.initializer === undefined || !ts.isArrowFunction(member.initializer)) return [];
      return [{ name: member.name.text, text, file, at: member.initializer.getStart() }];
    });

/** The places at which a file calls a function of this name, as `keys.revoke(…)`. */
function callsOf(file: string, name: string): number[] {
  const found: number[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression))
      if (node.expression.name.text === name) found.push(node.expression.name.getStart());
    ts.forEachChild(node, visit);
  };
  if (parsed(file).text.includes(`.${name}(`)) visit(parsed(file));
  return found;
}

/** What an editor shows at a call: the text, and each definition. */
function showAt(file: string, at: number) {
  const shown = editor.getQuickInfoAtPosition(resolve(file), at);
  const definitions = editor.getDefinitionAtPosition(resolve(file), at) ?? [];
  return {
    text: ts.displayPartsToString(shown?.documentation),
    definitions: definitions.map(({ fileName, textSpan }) => ({ file: fileName, at: textSpan.start })),
  };
}

/** The first call that leads to the file of one of the room's services; those of routes come first. */
function firstCall(room: string): { shown: ReturnType<typeof showAt>; called: Documented } | undefined {
  const functions = SERVICES.filter((file) => dirname(file) === room).flatMap(documentedIn);
  const rank = (file: string) => (file.endsWith('.routes.ts') ? 0 : 1) + (dirname(file) === room ? 0 : 2);
  for (const caller of [...SOURCES].sort((one, other) => rank(one) - rank(other)))
    for (const called of functions) {
      if (called.file === caller || !parsed(caller).text.includes(`/${basename(called.file)}'`)) continue;
      for (const at of callsOf(caller, called.name)) {
        const shown = showAt(caller, at);
        if (shown.definitions.some(({ file }) => file === resolve(called.file))) return { shown, called };
      }
    }
  return undefined;
}

/** Only the roof calls these. */
const CALLED_ABOVE = ['src/operations/invariants', 'src/operations/objectives'];
const ROOMS = [
  ...new Set(SERVICES.filter((file) => parsed(file).statements.some(isService)).map(dirname)),
].filter((room) => !CALLED_ABOVE.includes(room));

function isService(node: ts.Statement): boolean {
  return ts.isClassDeclaration(node) || isFactory(node);
}

describe('a service', () => {
  beforeAll(() => void editor.getProgram());

  it('is a class and no factory', () => {
    expect(ROOMS.length).toBeGreaterThan(25);
    const factories = SERVICES.flatMap((file) =>
      parsed(file)
        .statements.filter(isFactory)
        .map((node) => placeOf(file, node)),
    );
    expect(factories).toEqual([]);
  });

  it('has fields and no methods, which would lose it where they are passed on', () => {
    const others = SERVICES.flatMap((file) =>
      classesOf(file)
        .flatMap(({ members }) => [...members])
        .filter((member) => !ts.isPropertyDeclaration(member))
        .map((member) => placeOf(file, member)),
    );
    expect(others).toEqual([]);
  });

  it('says of each public function what it does', () => {
    const silent = SERVICES.flatMap((file) =>
      classesOf(file)
        .flatMap(({ members }) => [...members])
        .filter(({ name }) => name !== undefined && ts.isIdentifier(name))
        .filter((member) => ts.getJSDocCommentsAndTags(member).length === 0)
        .map((member) => placeOf(file, member)),
    );
    expect(silent).toEqual([]);
  });

  it.each(ROOMS)('of %s shows its text and leads to its function where it is called', (room) => {
    const { shown, called } = firstCall(room) ?? {};
    expect(called).toBeDefined();
    expect(shown).toEqual({
      text: called?.text,
      definitions: [{ file: resolve(called?.file ?? ''), at: called?.at }],
    });
  });
});
