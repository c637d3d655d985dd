// Loaded into a process before anything else: its clock can be put forward and back while it runs. The shift, in
// milliseconds, is in the file CLOCK_FILE. Monotonic clocks and the system's stay as they are.
import { readFileSync } from 'node:fs';

const RealDate = Date;
let shift = 0;
const read = () => {
  try {
    shift = Number(readFileSync(process.env.CLOCK_FILE, 'utf8')) || 0;
  } catch {
    shift = 0;
  }
};
read();
setInterval(read, 100).unref();

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, made) =>
    Reflect.construct(target, given.length === 0 ? [RealDate.now() + shift] : given, made),
  apply: () => new RealDate(RealDate.now() + shift).toString(),
  get: (target, name, receiver) =>
    name === 'now' ? () => RealDate.now() + shift : Reflect.get(target, name, receiver),
});
