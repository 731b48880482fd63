/**
 * Loaded with `node --import` into processes under test. At the start and on SIGUSR2 the process's time of day is shifted by the
 * milliseconds that the file named in this module's query holds; the monotonic clock goes on as it was.
 */
import { existsSync, readFileSync } from 'node:fs';

const file = new URL(import.meta.url).searchParams.get('file') ?? '';
const RealDate = Date;
const readShift = () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0);
let shiftMs = readShift();
const now = () => RealDate.now() + shiftMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, newTarget) => Reflect.construct(target, given.length > 0 ? given : [now()], newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

process.on('SIGUSR2', () => {
  shiftMs = readShift();
});
