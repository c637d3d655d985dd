// Refuses requests that do not match the route's schemas, with 415, 413 or 400, in this order.
import { ZodObject, type ZodType } from 'zod';
import { type FieldErrors, invalidFields, parseFields } from '../errors/field-errors.ts';
import { invalidField, ServiceError } from '../errors/service-error.ts';
import { without } from '../json-values.ts';
import { roomOwnerOf } from '../room.ts';
import { runSteps } from '../steps.ts';
import { type BodyRoom, FREE_BODY } from './body-room.ts';
import { FormError, type FormOptions, parseForm } from './form.ts';
import { announcedBytes, hasBody, NOTHING, readBytes, textOf } from './request-body.ts';
import { type Context, contextOf, countHeader, type Middleware, type RequestInput } from './request-state.ts';
import type { RequestTurns } from './request-turns.ts';
import { type Route, takesToken } from './route.ts';
import { JsonError, parseInSteps } from './strict-json.ts';

const MEDIA_TYPES = { json: 'application/json', form: 'application/x-www-form-urlencoded' } as const;

/**
 * The most bytes of a body unless its route says otherwise: with an access token (for a key set of many keys), from
 * anyone in JSON, and from anyone in a form, which may have several tokens in it.
 */
const LONGEST = { known: 131_072, json: 16_384, form: 65_536 } as const;

type Part = FieldErrors & { readonly value: unknown };

/**
 * Validates query and body, and stores them with the parameters of the path in `ctx.state.input`.
 * @param turns without it, long bodies are parsed like others
 * @param room without it, the bytes of bodies are not bounded
 */
export function guardRequest(
  route: Route,
  turns?: Pick<RequestTurns, 'parse'>,
  room?: Pick<BodyRoom, 'take'>,
): Middleware {
  const { query, body, bodyType = 'json' } = route.request ?? {};
  const longest = route.request?.longest ?? LONGEST[takesToken(route) ? 'known' : bodyType];
  const schemas = {
    // An unknown query parameter is refused, because its caller would otherwise not notice the mistake.
    query: query?.strict(),
    body,
    bodyType,
    readOnly: readOnlyFields(route),
  };
  return async (ctx, next) => {
    const queryText = ctx.querystring;
    refuseTokenInQuery(queryText);
    if (body !== undefined) checkMediaType(ctx, bodyType);
    const { bytes, giveBack } =
      body === undefined ? { bytes: NOTHING } : await readInRoom(ctx, longest, room);
    const parse = async () => {
      const steps = validate(schemas, queryText, bytes);
      const parsed =
        turns === undefined
          ? runSteps(steps)
          : await turns.parse(contextOf(ctx).tenant.id, bytes.length, steps);
      ctx.state.input = { params: ctx.state.params ?? {}, bytes, ...parsed };
    };
    if (giveBack === undefined) {
      await parse();
      return next();
    }
    try {
      await parse();
      await next();
    } finally {
      delete ctx.state.input;
      giveBack();
    }
  };
}

type Schemas = {
  readonly query: ZodObject | undefined;
  readonly body: ZodType | undefined;
  readonly bodyType: keyof typeof MEDIA_TYPES;
  readonly readOnly: readonly string[];
};

/**
 * Parses query and body in steps. The function is the module's own: V8 keeps what a generator function that was made
 * for one request can see, which is the whole request, until the next full collection.
 * @throws ServiceError `invalid_request`
 */
function* validate(
  { query, body, bodyType, readOnly }: Schemas,
  queryText: string,
  bytes: Buffer,
): Generator<void, Omit<RequestInput, 'params' | 'bytes'>, void> {
  const sent = body === undefined ? undefined : yield* parseBody(textOf(bytes), bodyType);
  if (bodyType === 'form' && queryText !== '') throw invalidField('query', 'parameters belong in the body');
  const queryPart =
    query === undefined
      ? undefined
      : check(query, 'query', readForm(queryText, 'query', { keepEmpty: true }));
  const bodyPart = body === undefined ? undefined : check(body, 'body', without(sent, readOnly));
  const errors = [...(queryPart?.errors ?? []), ...(bodyPart?.errors ?? [])];
  const more = (queryPart?.more ?? 0) + (bodyPart?.more ?? 0);
  if (errors.length > 0) throw invalidFields({ errors, more });
  return { query: queryPart?.value ?? {}, body: bodyPart?.value, sent };
}

type Body = { readonly bytes: Buffer; readonly giveBack?: (() => void) | undefined };

/** Reads a body when there is room for the bytes that it announces, or for the most that may come. */
async function readInRoom(
  ctx: Context,
  longest: number,
  room: Pick<BodyRoom, 'take'> | undefined,
): Promise<Body> {
  const announced = announcedBytes(ctx.req) ?? longest;
  if (room === undefined || announced <= FREE_BODY || announced > longest)
    return { bytes: await readBytes(ctx.req, longest) };
  const giveBack = await room.take(roomOwnerOf(contextOf(ctx)), announced);
  try {
    const bytes = await readBytes(ctx.req, longest);
    if (bytes.length > FREE_BODY) return { bytes, giveBack };
    giveBack();
    return { bytes };
  } catch (error) {
    giveBack();
    throw error;
  }
}

function checkMediaType(ctx: Context, type: keyof typeof MEDIA_TYPES): void {
  const { headers } = ctx.req;
  const sentType = headers['content-type'];
  const expected = MEDIA_TYPES[type];
  const encoding = headers['content-encoding'];
  if (sentType === undefined ? hasBody(ctx.req) : !isMediaType(sentType, expected))
    throw new ServiceError('unsupported_media_type', { detail: `The body must be ${expected}.` });
  if (sentType !== undefined && countHeader(ctx, 'content-type') > 1)
    throw new ServiceError('unsupported_media_type', { detail: 'There is more than one content-type.' });
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new ServiceError('unsupported_media_type', { detail: 'The body must not be compressed.' });
}

function* parseBody(text: string, type: keyof typeof MEDIA_TYPES): Generator<void, unknown, void> {
  if (type === 'form') return readForm(text, 'body');
  return text === '' ? {} : yield* readJson(text);
}

/** Parameters such as `charset` are ignored, because the bytes must be UTF-8 in any case. */
function isMediaType(header: string, expected: string): boolean {
  if (header === expected) return true;
  return header.split(';', 1)[0]?.trim().toLowerCase() === expected;
}

function* readJson(text: string): Generator<void, unknown, void> {
  try {
    const value = yield* parseInSteps(text);
    yield;
    return value;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw invalidField(error.path === '' ? 'body' : `body.${error.path}`, error.message);
  }
}

function readForm(text: string, part: string, options?: FormOptions): Record<string, string> {
  try {
    return parseForm(text, options);
  } catch (error) {
    if (!(error instanceof FormError)) throw error;
    throw invalidField(error.parameter === '' ? part : `${part}.${error.parameter}`, error.message);
  }
}

/** A token in a URL would appear in logs and histories (RFC 6750 §5.3). */
function refuseTokenInQuery(query: string): void {
  if (query !== '' && /(^|&)access_token=/i.test(query))
    throw invalidField('query.access_token', 'send the token in the Authorization header');
}

function check(schema: ZodType, part: string, value: unknown): Part {
  const parsed = parseFields(schema, part, value);
  return 'errors' in parsed ? { value: undefined, ...parsed } : { ...parsed, errors: [], more: 0 };
}

/** Fields of the answer that the request's schema does not know. A client may send them back unchanged. */
function readOnlyFields(route: Route): readonly string[] {
  if (route.method !== 'PUT' && route.method !== 'PATCH') return [];
  const { body, readOnly } = route.request ?? {};
  if (readOnly !== undefined) return readOnly;
  const answer = route.responses[200]?.schema;
  if (!(answer instanceof ZodObject) || !(body instanceof ZodObject)) return [];
  return Object.keys(answer.shape).filter((name) => !(name in body.shape));
}
