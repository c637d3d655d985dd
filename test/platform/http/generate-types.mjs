// Writes the TypeScript types that openapi-typescript makes of a document: `node generate-types.mjs <document> <file>`.
import { readFileSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';

// The generator needs the compiler's interface of TypeScript 5, which TypeScript 7 does not have.
const hook = `export const resolve = (name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`, import.meta.url);

const [document, file] = process.argv.slice(2);
const { default: generate, astToString } = await import('openapi-typescript');
writeFileSync(file, astToString(await generate(JSON.parse(readFileSync(document, 'utf8')))));
