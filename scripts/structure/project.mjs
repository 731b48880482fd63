// The TypeScript program of a checkout, and the source files of ours that are in it.
import { join, relative } from 'node:path';
import { SyntaxKind } from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

const sourcePattern = /^(packages|services)\/[^/]+\/(web\/)?src\/.*\.tsx?$/;
const leftOut = [/\.test\.tsx?$/, /\/src\/gen\//, /^packages\/testkit\//, /\/testing\//];

/** Source files are what runs in production: no tests, no test support, no generated code. */
export const isSource = (path) => sourcePattern.test(path) && !leftOut.some((pattern) => pattern.test(path));

/** The pages of the portal are a program of their own, for browsers. */
export const pages = 'services/portal/web';

/** Opens the project in a folder of `root`. `close` ends the compiler's process. */
export function openProject(root, folder = '.') {
  const api = new API({ cwd: root });
  const project = api.updateSnapshot({ openProject: join(root, folder, 'tsconfig.json') }).getProjects()[0];
  if (!project) throw new Error(`${join(root, folder)} has no tsconfig.json that TypeScript can open.`);
  const pathOf = (file) => relative(root, file);
  const files = new Map();
  for (const name of project.program.getSourceFileNames())
    if (isSource(pathOf(name))) files.set(pathOf(name), project.program.getSourceFile(name));
  return { root, project, checker: project.checker, program: project.program, files, pathOf, close: () => api.close() };
}

export { SyntaxKind };
