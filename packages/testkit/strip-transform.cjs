// Jest runs the sources as Node does: with their types stripped in place, so lines and columns stay where they are.
const { createHash } = require('node:crypto');
const { stripTypeScriptTypes } = require('node:module');

exports.process = (source) => ({ code: stripTypeScriptTypes(source, { mode: 'strip' }) });

exports.getCacheKey = (source, path, { instrument }) =>
  createHash('sha256')
    .update([source, path, process.version, String(instrument)].join('\0'))
    .digest('hex');
