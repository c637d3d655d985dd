// Links of an answer (OpenAPI 3.1 §4.8.20): what can be done with what it names. They follow from the paths alone; no route declares them.
import { type ZodType, z } from 'zod';
import type { JsonSchema } from './openapi-schemas.ts';
import type { Route } from './route.ts';

/**
 * @param route whose answer is described
 * @param status of that answer
 * @param routes the whole table
 * @returns by operationId a link to each operation on the thing that a POST made, or on the first of those that a GET listed
 */
export function describeLinks(
  route: Route,
  status: number,
  routes: readonly Route[],
): Record<string, JsonSchema> {
  const found = status < 300 ? namedIn(route.responses[status]?.schema) : undefined;
  if (found === undefined || (found.isList ? route.method !== 'GET' : route.method !== 'POST')) return {};
  const links = routes.flatMap((target) => {
    const parameter = newParameterOf(route, target, found.names);
    if (parameter === undefined) return [];
    const pointer = `${found.isList ? '/data/0' : ''}/${found.names.has(parameter) ? parameter : 'id'}`;
    const parameters = Object.fromEntries(
      parametersOf(target.path).map((name) => [
        name,
        name === parameter ? `$response.body#${pointer}` : `$request.path.${name}`,
      ]),
    );
    return [[target.operationId, { operationId: target.operationId, parameters }] as const];
  });
  return Object.fromEntries(links);
}

/** The members of an answer's body, or of each item of a list. */
function namedIn(
  schema: ZodType | undefined,
): { readonly names: ReadonlySet<string>; readonly isList: boolean } | undefined {
  if (!(schema instanceof z.ZodObject)) return undefined;
  const { data } = schema.shape as Record<string, unknown>;
  if (!(data instanceof z.ZodArray)) return { names: new Set(Object.keys(schema.shape)), isList: false };
  const { element } = data;
  return element instanceof z.ZodObject
    ? { names: new Set(Object.keys(element.shape)), isList: true }
    : undefined;
}

/** The one path parameter of `target` that the answer of `route` gives and its path does not. */
function newParameterOf(route: Route, target: Route, names: ReadonlySet<string>): string | undefined {
  const known = parametersOf(route.path);
  const [parameter, ...more] = parametersOf(target.path).filter((name) => !known.includes(name));
  if (parameter === undefined || more.length > 0) return undefined;
  const isBelow =
    target.path === `${route.path}/:${parameter}` || target.path.startsWith(`${route.path}/:${parameter}/`);
  if (isBelow) return names.has(parameter) || names.has('id') ? parameter : undefined;
  const isRead = target.method === 'GET' && target.path.endsWith(`/:${parameter}`);
  return isRead && route.method === 'POST' && parameter !== 'id' && names.has(parameter)
    ? parameter
    : undefined;
}

function parametersOf(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');
}
