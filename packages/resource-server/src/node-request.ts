// Reads requests of Node's HTTP server, which Express and Koa have inside.
import type { GuardedRequest } from './credentials.ts';

/** What is read of Node's IncomingMessage. Express keeps the target before a router's mount in `originalUrl`. */
export type NodeRequest = {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly originalUrl?: string | undefined;
  /** Names and values in turn, as they came: `headers` hides a repeated Authorization. */
  readonly rawHeaders: readonly string[];
};

export function fromNodeRequest(request: NodeRequest): GuardedRequest {
  const { method = '', rawHeaders } = request;
  return {
    method,
    target: request.originalUrl ?? request.url ?? '',
    header: (name) =>
      rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name),
  };
}
