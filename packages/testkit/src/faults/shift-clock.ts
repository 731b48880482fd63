/**
 * Loaded with `node --import` into processes under test. Shifts the process's time of day: at the start by `ahead` of this module's query, or
 * by the milliseconds in its `file`, and on SIGUSR2 by those in the file. The monotonic clock is left as it is.
 */
import { existsSync, readFileSync } from 'node:fs';

const { searchParams } = new URL(import.meta.url);
const file = searchParams.get('file') ?? '';
const RealDate = Date;
const readShift = () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0);
let shiftMs = searchParams.has('ahead') ? Number(searchParams.get('ahead')) : readShift();
const now = () => RealDate.now() + shiftMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, parameters, newTarget) => Reflect.construct(target, parameters.length > 0 ? parameters : [now()], newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

process.on('SIGUSR2', () => {
  shiftMs = readShift();
});
