import { startWebhookWorld } from './webhooks/world.ts';
import { execSync } from 'node:child_process';
const w = await startWebhookWorld();
const me = process.pid;
function all() {
  const out = execSync("ps -eo pid,ppid,args --no-headers").toString().split('\n').map((l) => l.trim().split(/\s+/));
  const mine = new Set([String(me)]);
  for (let k = 0; k < 4; k++) for (const [pid, ppid] of out) if (mine.has(ppid!)) mine.add(pid!);
  const r: Record<string, number> = {};
  for (const [pid, , ...args] of out) { if (!mine.has(pid!)) continue; const a = args.join(' ');
    const name = a.includes('services/webhooks/') ? 'webhooks' : a.includes('dispatcher') ? 'dispatcher' : a.includes('redis') ? 'redis' : a.includes('postgres') ? 'postgres' : a.includes('receivers') ? 'receiver' : a.includes('post-loop') ? 'floor' : pid === String(me) ? 'driver' : 'other';
    try { const s = execSync(`cat /proc/${pid}/stat 2>/dev/null`).toString().split(') ')[1]!.split(' '); r[name] = (r[name] ?? 0) + (Number(s[11]) + Number(s[12])) * 10; } catch {} }
  return r;
}
const diff = (a: Record<string, number>, b: Record<string, number>, n: number) => Object.entries(b).map(([k, v]) => `${k} ${((v - (a[k] ?? 0)) * 1000 / n).toFixed(0)}us`).join('  ');
await w.floor(1); await w.drive({ seconds: 4, hanging: false });
for (let i = 0; i < 3; i++) {
  let a = all(); const f = await w.floor(4); console.log('floor', Math.round(f), diff(a, all(), f * 4));
  a = all(); const d = await w.drive({ seconds: 4, hanging: false }); const n = d.latenciesMs.length; console.log('drive', Math.round(d.rate), 'n', n, diff(a, all(), n), 'approx, drained after');
}
await w.stop();
