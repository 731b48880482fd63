import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { repositoryRoot } from '@agent-service/local/host/environment';
import { freePort } from '@agent-service/local/host/ports';
import { until } from '@agent-service/local/host/waiting';
import { removeData } from '@agent-service/local/system/remove-data';
import { onEnd } from '../cleanup.ts';
import { median, type Scenario } from '../scenario.ts';

const rounds = 5;
const startLimitMs = 180_000;
/** By then every process has returned the memory of its start. */
const idleMs = 15_000;
const mostMegabytes = 600;
const mostOfBase = 0.6;

interface Program {
  readonly name: string;
  readonly checkout: string;
  readonly script: string;
}

interface Memory {
  /** Megabytes of all Node processes, each with all pages that it shares. */
  readonly resident: number;
  /** The same with shared pages divided among their users. */
  readonly proportional: number;
}

interface Start {
  readonly readyMs: number;
  readonly memory: Memory | undefined;
}

/** A checkout with a folder of data, whose system is started again and again. */
class Candidate {
  readonly program: Program;
  readonly #dataDir: string;
  readonly remove: () => Promise<void>;
  #stop = async (): Promise<void> => undefined;

  constructor(program: Program) {
    this.program = program;
    this.#dataDir = mkdtempSync(join(tmpdir(), 'agent-service-bench-'));
    // As root, PostgreSQL runs as another user and must get through to its cluster.
    chmodSync(this.#dataDir, 0o711);
    this.remove = onEnd(async () => {
      await this.#stop();
      await removeData(this.#dataDir);
      rmSync(this.#dataDir, { recursive: true, force: true });
    });
  }

  /** From the command to the first ready answer, and the memory of the idle system if asked for. */
  async start({ measureMemory = false } = {}): Promise<Start> {
    const port = await freePort();
    const { DATABASE_URL: _database, REDIS_URL: _redis, NODE_COMPILE_CACHE: _cache, ...inherited } = process.env;
    const env = { ...inherited, DATA_DIR: this.#dataDir, PORT: String(port), PORTAL_PORT: String(await freePort()) };
    const began = performance.now();
    const npm = spawn('npm', ['run', this.program.script], { cwd: this.program.checkout, env, detached: true, stdio: 'ignore' });
    const ended = once(npm, 'exit');
    this.#stop = async () => {
      if (npm.exitCode === null && npm.signalCode === null) process.kill(-(npm.pid ?? 0), 'SIGTERM');
      await ended;
    };
    try {
      const isReady = () => npm.exitCode !== null || isOk(`http://127.0.0.1:${port}/readyz`);
      if (!(await until(isReady, startLimitMs, 10)) || npm.exitCode !== null)
        throw new Error(`${this.program.checkout} did not start; its logs are in ${this.#dataDir}`);
      const readyMs = performance.now() - began;
      if (measureMemory) await pause(idleMs);
      return { readyMs, memory: measureMemory ? this.#readMemory() : undefined };
    } finally {
      await this.#stop();
    }
  }

  #readMemory(): Memory {
    const read = (name: string) => JSON.parse(readFileSync(join(this.#dataDir, name), 'utf8')) as Record<string, number>;
    const { postgres: _postgres, redis: _redis, ...services } = read('processes.json');
    const { supervisor } = JSON.parse(readFileSync(join(this.#dataDir, 'supervisor.json'), 'utf8')) as { supervisor: { pid: number } };
    const pids = [...Object.values(services), supervisor.pid];
    const sum = (field: string) => pids.reduce((total, pid) => total + megabytes(pid, field), 0);
    return { resident: sum('Rss'), proportional: sum('Pss') };
  }
}

function megabytes(pid: number, field: string): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1]) / 1024;
}

const isOk = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
};

/** The readings of one candidate over all rounds. */
interface Readings {
  readonly name: string;
  readonly seconds: number[];
  memory: Memory;
}

/** Starts the candidates in turns; the last round measures memory as well. */
async function measure(candidates: readonly Candidate[], say: (line: string) => void): Promise<Readings[]> {
  // The first start creates the data and fills caches.
  for (const candidate of candidates) await candidate.start();
  const readings = candidates.map(({ program: { name } }): Readings => ({ name, seconds: [], memory: unmeasured }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const [index, candidate] of candidates.entries()) {
      const reading = readings[index] as Readings;
      const { readyMs, memory } = await candidate.start({ measureMemory: round === rounds });
      reading.seconds.push(readyMs / 1000);
      reading.memory = memory ?? unmeasured;
      say(`round ${round}, ${reading.name}: ready after ${(readyMs / 1000).toFixed(2)} s`);
    }
  }
  return readings;
}

const unmeasured: Memory = { resident: Number.NaN, proportional: Number.NaN };

/** BENCH_BASE names the checkout to compare with; without it the sources of this one are the base. */
export const start: Scenario = {
  name: 'start',
  about: 'idle memory of all Node processes, and the time of a second `npm start` against BENCH_BASE or the sources',
  async run(say) {
    const base = process.env['BENCH_BASE'];
    const ours = new Candidate({ name: 'build', checkout: repositoryRoot, script: 'start' });
    const theirs = new Candidate(
      base ? { name: 'base', checkout: base, script: 'start' } : { name: 'sources', checkout: repositoryRoot, script: 'start:sources' },
    );
    try {
      const readings = await measure([ours, theirs], say);
      const figures = Object.fromEntries(
        readings.flatMap(({ name, seconds, memory }) => [
          [`${name}: seconds to ready`, median(seconds)],
          [`${name}: megabytes`, memory.resident],
          [`${name}: megabytes, shared pages divided`, memory.proportional],
        ]),
      );
      for (const [name, value] of Object.entries(figures)) say(`${name}: ${value.toFixed(2)}`);
      const [own, other] = readings as [Readings, Readings];
      return {
        promises: [
          { name: 'megabytes of all Node processes, idle', measured: own.memory.resident, atMost: mostMegabytes },
          { name: `second start against the ${other.name}`, measured: median(own.seconds) / median(other.seconds), atMost: mostOfBase },
        ],
        figures,
      };
    } finally {
      await ours.remove();
      await theirs.remove();
    }
  },
};
