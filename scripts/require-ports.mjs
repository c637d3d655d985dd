// Refuses two settings with one port before `npm start` installs and builds, which takes a minute. The settings
// themselves check more, afterwards.
const DEFAULTS = { PORT: '8080', METRICS_PORT: '9464', TEMPORAL_PORT: '7233', TEMPORAL_UI_PORT: '8233' };

const chosen = Object.entries(DEFAULTS).map(([name, port]) => ({ name, port: process.env[name] || port }));
for (const [index, { name, port }] of chosen.entries()) {
  const other = chosen.slice(0, index).find((before) => before.port === port && port !== '0');
  if (other !== undefined && !(process.env.TEMPORAL_ADDRESS && name.startsWith('TEMPORAL_'))) {
    process.stderr.write(`countersign: ${name}: is needed for ${other.name} too: choose another port\n`);
    process.exit(2);
  }
}
