// Says in one line when Node.js is too old, and what a terminal should know of an old one. Imported first, and written
// so that an old one can read it.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`Countersign needs Node.js 20.19 or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}
if (major < 22 && process.stderr.isTTY)
  process.stderr.write('Node.js 20 gets no more security fixes: Node.js 24 is the preferred version.\n');
