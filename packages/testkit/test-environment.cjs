// Node's environment for test files. Jest compiles every module again for each test file: here a worker compiles it once, and V8 keeps what later files need.
const { PerformanceObserver } = require('node:perf_hooks');
const vm = require('node:vm');
const { TestEnvironment } = require('jest-environment-node');

const { SourceTextModule, compileFunction } = vm;

/** By file: the source that was compiled, and V8's code of it. */
const compiled = new Map();

/** A test file is loaded only once. */
const isLoadedAgain = (file) => file !== undefined && !/\.test\.m?[jt]s$/.test(file);

function codeOf(file, source) {
  const known = compiled.get(file);
  return known?.source === source ? known.code : undefined;
}

/** Keeps a copy: the code itself belongs to the test file, with all of its variables. */
function keep(file, source, code) {
  if (code !== undefined && isLoadedAgain(file)) compiled.set(file, { source, code: Buffer.from(code) });
}

vm.SourceTextModule = new Proxy(SourceTextModule, {
  construct(_, [source, options]) {
    const code = codeOf(options.identifier, source);
    if (code !== undefined) {
      try {
        return new SourceTextModule(source, { ...options, cachedData: code });
      } catch (cause) {
        // The process has other flags by now than when it compiled the file.
        if (cause.code !== 'ERR_VM_MODULE_CACHED_DATA_REJECTED') throw cause;
      }
    }
    const module = new SourceTextModule(source, options);
    keep(options.identifier, source, module.createCachedData());
    return module;
  },
});

vm.compileFunction = (source, parameters, options) => {
  const code = codeOf(options.filename, source);
  const result = compileFunction(source, parameters, { ...options, cachedData: code, produceCachedData: code === undefined });
  if (result.cachedDataRejected) compiled.delete(options.filename);
  keep(options.filename, source, result.cachedData);
  return result;
};

/** Those that the present test file has started. */
const observers = new Set();
const { observe } = PerformanceObserver.prototype;

PerformanceObserver.prototype.observe = function (...options) {
  observers.add(this);
  observe.apply(this, options);
};

/** Ends what would keep all variables of a past test file: a process in it observes collections of garbage and flushes its log for ever. */
module.exports = class extends TestEnvironment {
  #intervals = new Set();

  constructor(...options) {
    super(...options);
    const { setInterval } = this.global;
    this.global.setInterval = (...parameters) => {
      const interval = setInterval(...parameters);
      this.#intervals.add(interval);
      return interval;
    };
  }

  async teardown() {
    for (const interval of this.#intervals) clearInterval(interval);
    for (const observer of observers) observer.disconnect();
    observers.clear();
    await super.teardown();
  }
};
