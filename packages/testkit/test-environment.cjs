// Node's environment for test files. Jest compiles every module again for each test file: here a worker compiles it once, and V8 keeps what later files need.
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

function keep(file, source, code) {
  if (code !== undefined && isLoadedAgain(file)) compiled.set(file, { source, code });
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

module.exports = TestEnvironment;
