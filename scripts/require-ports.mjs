// Refuses two settings with one port, and at the first start a port that is taken, before `npm start` installs and
// builds, which takes a minute. The settings themselves check more, afterwards.
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';

const PARTS = {
  PORT: 'the API',
  METRICS_PORT: 'the API',
  TEMPORAL_PORT: 'Temporal',
  TEMPORAL_UI_PORT: 'Temporal',
};
const HOSTS = { PORT: process.env.HOST, METRICS_PORT: process.env.METRICS_HOST };
const DEFAULTS = { PORT: '8080', METRICS_PORT: '9464', TEMPORAL_PORT: '7233', TEMPORAL_UI_PORT: '8233' };

const chosen = Object.entries(DEFAULTS)
  .map(([name, port]) => ({ name, port: process.env[name] || port }))
  .filter(({ name }) => !(process.env.TEMPORAL_ADDRESS && name.startsWith('TEMPORAL_')));
for (const [index, { name, port }] of chosen.entries()) {
  const other = chosen.slice(0, index).find((before) => before.port === port && port !== '0');
  if (other !== undefined) {
    process.stderr.write(`countersign: ${name}: is needed for ${other.name} too: choose another port\n`);
    process.exit(2);
  }
}

// Later starts find ports of their own leftovers, and end those.
if (!existsSync(process.env.DATA_DIR || '.data')) {
  for (const { name, port } of chosen) {
    if (!(await isTaken(HOSTS[name] || '127.0.0.1', Number(port)))) continue;
    process.stderr.write(
      `countersign: Port ${port} is in use, and ${PARTS[name]} needs it: stop the other program, or set ${name} to a free port.\n`,
    );
    process.exit(1);
  }
}

/** Whether another program listens there; what else is wrong with a port is said by the settings. */
function isTaken(host, port) {
  return new Promise((resolve) => {
    if (!(port > 0 && port < 65_536)) return resolve(false);
    const server = createServer();
    server.once('error', (/** @type {NodeJS.ErrnoException} */ { code }) => resolve(code === 'EADDRINUSE'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(false)));
  });
}
