// The source files that hold code which may run when an entry is called.
//
// From each entry the walk follows every reference to a value: calls, constants, classes, members. Types are not followed, libraries
// are not entered, and a call over gRPC ends the walk (the other side is an entry of its own). A member of an interface leads to the
// object literals and classes that implement it. Methods of an object that a function returns count only if they are used.
import { isClassDeclaration, isClassExpression, isFunctionLikeDeclaration, isTypeNode } from 'typescript/unstable/ast';
import { SyntaxKind } from './project.mjs';
import { createSymbols, workspaceOf } from './symbols.mjs';

/** `start.ts` composes a service; nothing in it belongs to one behaviour. */
const isCompositionRoot = (path) => path.endsWith('/src/start.ts');
/** A package runs code of a service only through functions that the service passes to it, and those are followed where they are passed. */
const mayCall = (from, to) => from === to || to.startsWith('packages/');
const isPath = ({ kind }) => kind === SyntaxKind.Identifier || kind === SyntaxKind.PropertyAccessExpression;
const isFunctionValue = (node) => node?.kind === SyntaxKind.ArrowFunction || node?.kind === SyntaxKind.FunctionExpression;
const isClass = (node) => isClassDeclaration(node) || isClassExpression(node);
const untouched = new Set([SyntaxKind.InterfaceDeclaration, SyntaxKind.TypeAliasDeclaration, SyntaxKind.ImportDeclaration]);

/**
 * How a node is walked. `whole`: every function in it may run, as in an entry. `passed`: it is an argument, so that the callee may call
 * the functions in it. `carrier`: it is the object of a method that a package implements.
 */
const plain = { whole: false, passed: false, carrier: false };

export function createReach(opened) {
  const symbols = createSymbols(opened);
  const fileOf = (node) => opened.pathOf(node.getSourceFile().fileName);

  /** The files that the entries reach, the entries' own included, each with the first reference that led to it. */
  return function reach(entries) {
    const visited = new Set();
    const reached = new Map();
    const pending = entries.map((node) => ({ node, mode: { ...plain, whole: true } }));

    function follow(identifier, mode) {
      const from = workspaceOf(fileOf(identifier));
      const values = symbols.valuesAt(identifier, mode.carrier).filter((value) => mayCall(from, workspaceOf(fileOf(value))));
      for (const value of values) {
        if (visited.has(value) || isCompositionRoot(fileOf(value))) continue;
        visited.add(value);
        pending.push({ node: value, mode: plain, from: identifier });
      }
      return values;
    }

    const walkers = {
      [SyntaxKind.Identifier]: follow,
      [SyntaxKind.PrivateIdentifier]: follow,
      [SyntaxKind.PropertyAccessExpression]: walkAccess,
      [SyntaxKind.ObjectLiteralExpression]: walkLiteral,
      [SyntaxKind.ShorthandPropertyAssignment]: ({ name }, mode) => follow(name, mode),
      [SyntaxKind.PropertyAssignment]: ({ initializer }, mode) => walk(initializer, mode),
      [SyntaxKind.BindingElement]: ({ initializer }, mode) => initializer && walk(initializer, mode),
      [SyntaxKind.CallExpression]: walkCall,
      [SyntaxKind.NewExpression]: walkCall,
      [SyntaxKind.FunctionDeclaration]: (node, mode) => mode.whole && walkFunction(node, mode),
      [SyntaxKind.VariableDeclaration]: walkVariable,
    };

    function walk(node, mode) {
      if (isTypeNode(node) || untouched.has(node.kind)) return;
      const walker = walkers[node.kind];
      if (walker) walker(node, mode);
      else if (isFunctionLikeDeclaration(node)) walkFunction(node, mode);
      else node.forEachChild((child) => void walk(child, mode));
    }

    function walkFunction({ parameters, body }, { whole }) {
      for (const { initializer } of parameters ?? []) if (initializer) walk(initializer, { ...plain, whole });
      if (body) walk(body, { ...plain, whole });
    }

    /** A function in a variable runs where the variable is named. */
    function walkVariable({ initializer }, mode) {
      if (initializer && (mode.whole || !isFunctionValue(initializer))) walk(initializer, mode);
    }

    function walkCall({ expression, arguments: passed = [] }, { whole }) {
      walk(expression, { ...plain, whole });
      for (const argument of passed) walk(argument, { ...plain, whole, passed: true });
    }

    function walkLiteral({ properties }, mode) {
      for (const property of properties) {
        const isMethod = isFunctionLikeDeclaration(property) || isFunctionValue(property.initializer);
        if (!isMethod || mode.whole || mode.passed) walk(property, mode);
      }
    }

    /**
     * A method leads to its own code. Where that is a package's, as of a queue or a batch, the object itself is followed too, since it was
     * made with functions of ours. Members that hold data lead to the object alone.
     */
    function walkAccess(node, mode) {
      const here = workspaceOf(fileOf(node));
      const values = follow(node.name, mode);
      const isOurs = values.some((value) => workspaceOf(fileOf(value)) === here);
      if (!isOurs) walk(node.expression, { ...mode, carrier: values.length > 0 });
      else if (!isPath(node.expression)) walk(node.expression, mode);
    }

    function walkClass({ members, heritageClauses = [] }, mode) {
      for (const member of members)
        if (mode.whole || !isFunctionLikeDeclaration(member) || member.kind === SyntaxKind.Constructor) walk(member, mode);
      for (const { types } of heritageClauses) for (const { expression } of types) walk(expression, mode);
    }

    /** The declaration was named: what it says runs, functions included. */
    function walkNamed(node, mode) {
      if (isClass(node)) walkClass(node, mode);
      else if (isFunctionLikeDeclaration(node)) walkFunction(node, mode);
      else if (isFunctionValue(node.initializer)) walkFunction(node.initializer, mode);
      else walk(node.initializer ?? node, mode);
    }

    for (let next = pending.pop(); next; next = pending.pop()) {
      const path = fileOf(next.node);
      if (!reached.has(path) && !isCompositionRoot(path)) reached.set(path, next.from);
      walkNamed(next.node, next.mode);
    }
    return reached;
  };
}
