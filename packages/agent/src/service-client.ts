// Requests of an agent to its issuer: JSON and forms, repeated where the service asks for that, refusals as AgentError.

import { AgentError } from './agent-error.ts';
import { isWorthProving, type Learned, type Prover } from './dpop.ts';
import { fetchWhole } from './whole-answer.ts';

export type Answer = Readonly<Record<string, unknown>>;

/**
 * What is sent: `json` as a JSON body, `form` as a form. A request that is `safe` may be sent again after a lost
 * answer.
 */
export type ServiceRequest = {
  readonly path: string;
  /** POST with a body and GET without one, unless it is said. */
  readonly method?: 'PUT' | undefined;
  readonly json?: Readonly<Record<string, unknown>> | undefined;
  readonly form?: Readonly<Record<string, string | undefined>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly accessToken?: { readonly tokenType: string; readonly accessToken: string } | undefined;
  readonly proved?: boolean | undefined;
  readonly safe?: boolean | undefined;
};

/** The seconds before the second, third and fourth try of a request that could not be answered. */
const PAUSES = [0.25, 0.5, 1];

const REQUEST_MILLISECONDS = 30_000;

export type ServiceClient = ReturnType<typeof createServiceClient>;

type ServiceClientNeeds = {
  issuer: string;
  prover: Prover | undefined;
  fetch: typeof globalThis.fetch;
  maxWaitSeconds: number;
};

/** @param options.maxWaitSeconds the longest `Retry-After` that is waited for */
export function createServiceClient({ issuer, prover, fetch, maxWaitSeconds }: ServiceClientNeeds) {
  async function headersOf(request: ServiceRequest, method: string, url: string): Promise<Headers> {
    const headers = new Headers(request.headers);
    headers.set('accept', 'application/json');
    if (request.json !== undefined) headers.set('content-type', 'application/json');
    const { accessToken } = request;
    if (accessToken !== undefined)
      headers.set('authorization', `${accessToken.tokenType} ${accessToken.accessToken}`);
    const isBound = accessToken?.tokenType === 'DPoP';
    if (prover !== undefined && (request.proved === true || isBound))
      headers.set('dpop', await prover.prove(method, url, isBound ? accessToken.accessToken : undefined));
    return headers;
  }

  async function send(
    request: ServiceRequest,
  ): Promise<{ response: Response; learned: Learned | undefined }> {
    const url = issuer + request.path;
    const body = bodyOf(request);
    const method = request.method ?? (body === null ? 'GET' : 'POST');
    const headers = await headersOf(request, method, url);
    const init = { method, headers, body, redirect: 'manual' } as const;
    try {
      const response = await fetchWhole(fetch, url, init, REQUEST_MILLISECONDS);
      return { response, learned: prover?.learn(response, url) };
    } catch (error) {
      throw new AgentError('unreachable', `${url} could not be reached.`, { cause: error });
    }
  }

  /** Waits as the service asks, or shortly where nothing could be reached. @throws the error when that is too long */
  async function pause(error: AgentError, { safe }: ServiceRequest, attempt: number): Promise<void> {
    const shortly = PAUSES[attempt];
    const isRefusedForNow = error.status === 429 || error.status === 503;
    const isLost = error.code === 'unreachable' && safe === true;
    const seconds = isRefusedForNow ? (error.retryAfterSeconds ?? shortly) : shortly;
    if (shortly === undefined || seconds === undefined || !(isRefusedForNow || isLost)) throw error;
    if (seconds > maxWaitSeconds) throw error;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }

  return {
    /** @returns the parsed answer @throws {AgentError} */
    async call(request: ServiceRequest): Promise<Answer> {
      let isProofTried = false;
      for (let attempt = 0; ; ) {
        try {
          const { response, learned } = await send(request);
          const answer = await parseAnswer(response);
          if (response.ok) return answer;
          const error = toError(response, answer);
          if (!isProofTried && isWorthProving(error.code, learned)) isProofTried = true;
          else throw error;
        } catch (error) {
          if (!(error instanceof AgentError)) throw error;
          await pause(error, request, attempt);
          attempt += 1;
        }
      }
    },
  };
}

function bodyOf({ json, form }: ServiceRequest): string | URLSearchParams | null {
  if (json !== undefined) return JSON.stringify(json);
  if (form === undefined) return null;
  const given = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new URLSearchParams(given);
}

async function parseAnswer(response: Response): Promise<Answer> {
  const { status } = response;
  const answer: unknown = await response.json().catch(() => undefined);
  if (typeof answer === 'object' && answer !== null) return answer as Answer;
  if (!response.ok) return {};
  throw new AgentError('unexpected_answer', `The answer ${status} is not a JSON object.`, { status });
}

function toError({ status, headers }: Response, answer: Answer): AgentError {
  const code = typeof answer.error === 'string' ? answer.error : 'unexpected_answer';
  const detail = answer.detail ?? answer.error_description;
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return new AgentError(code, typeof detail === 'string' ? detail : `The answer is ${status}.`, {
    status,
    retryAfterSeconds: Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined,
    requestId: headers.get('x-request-id') ?? undefined,
  });
}
