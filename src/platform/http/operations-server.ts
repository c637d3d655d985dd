// A separate small HTTP server of each process for operators: liveness, readiness, metrics.
import { createServer, type Server } from 'node:http';

/** The answer of `/readyz`. `ready` decides between 200 and 503; the other members are shown. */
export type Readiness = { ready: boolean } & Record<string, unknown>;

type OperationsServerNeeds = { readiness: () => Promise<Readiness>; metrics: () => Promise<string> };

/**
 * @param readiness called for each `/readyz`
 * @param metrics returns text in the Prometheus exposition format; called for each `/metrics`
 * @returns a server that does not listen yet
 */
export function createOperationsServer({ readiness, metrics }: OperationsServerNeeds): Server {
  const routes: Record<string, () => Promise<{ status: number; type: string; body: string }>> = {
    '/healthz': async () => json(200, { status: 'ok' }),
    '/readyz': async () => {
      const { ready, ...rest } = await readiness();
      return json(ready ? 200 : 503, { status: ready ? 'ready' : 'not_ready', ...rest });
    },
    '/metrics': async () => ({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
      body: await metrics(),
    }),
  };
  const server = createServer((request, response) => {
    const route = routes[(request.url ?? '').split('?')[0] ?? ''];
    const answer = route === undefined ? Promise.resolve(json(404, { error: 'not_found' })) : route();
    answer
      .catch(() => json(500, { error: 'server_error' }))
      .then(({ status, type, body }) => {
        response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
        response.end(request.method === 'HEAD' ? undefined : body);
      })
      .catch(() => response.destroy());
  });
  // A connection that fails to be accepted must not end the process.
  server.on('error', () => undefined);
  server.requestTimeout = 5_000;
  return server;
}

function json(status: number, body: unknown) {
  return { status, type: 'application/json', body: `${JSON.stringify(body)}\n` };
}
