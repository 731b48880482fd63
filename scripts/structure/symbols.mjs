// From a name in the sources to the places where its value is written.
import { isClassDeclaration, isClassExpression } from 'typescript/unstable/ast';
import { SignatureKind, SymbolFlags } from 'typescript/unstable/sync';
import { SyntaxKind } from './project.mjs';

const isClass = (node) => isClassDeclaration(node) || isClassExpression(node);
const isInterfaceMember = ({ kind }) => kind === SyntaxKind.PropertySignature || kind === SyntaxKind.MethodSignature;
const isAssignedLater = ({ kind, initializer }) => kind === SyntaxKind.PropertyDeclaration && !initializer;
const isField = ({ kind }) => kind === SyntaxKind.PropertyAssignment || kind === SyntaxKind.ShorthandPropertyAssignment;
const isArgumentOf = ({ kind, arguments: passed }, node) =>
  (kind === SyntaxKind.CallExpression || kind === SyntaxKind.NewExpression) && (passed?.includes(node) ?? false);

/** `packages/x` or `services/x`. */
export const workspaceOf = (path) => path.split('/').slice(0, 2).join('/');

export function createSymbols({ checker, files, project, pathOf }) {
  const fileOf = (node) => pathOf(node.getSourceFile().fileName);
  const membersByName = indexMembers(files);
  const symbolsOfFile = memoize((file) => {
    const identifiers = collect(file, ({ kind }) => kind === SyntaxKind.Identifier || kind === SyntaxKind.PrivateIdentifier);
    const symbols = checker.getSymbolAtLocation(identifiers);
    return new Map(identifiers.map((identifier, index) => [identifier, symbols[index]]));
  });
  const contextualType = memoize((literal) => checker.getContextualType(literal));
  /** Fields that hold data lead nowhere: what writes a field is another behaviour. */
  const isCallable = memoize((symbol) => {
    const type = checker.getTypeOfSymbol(symbol);
    return type !== undefined && checker.getSignaturesOfType(type, SignatureKind.Call).length > 0;
  });
  const values = memoize((symbol) => ownDeclarations(symbol).flatMap((declaration) => valuesOf(symbol, declaration, false)));
  const carriedValues = memoize((symbol) => ownDeclarations(symbol).flatMap((declaration) => valuesOf(symbol, declaration, true)));

  /** `isCarrier`: fields count as well, since the object in them is made with functions. */
  return {
    valuesAt(identifier, isCarrier) {
      const symbol = symbolAt(identifier);
      if (symbol === undefined) return [];
      return isCarrier ? carriedValues(symbol) : values(symbol);
    },
  };

  function symbolAt(identifier) {
    const isShorthand = identifier.parent.kind === SyntaxKind.ShorthandPropertyAssignment;
    const symbol = isShorthand
      ? checker.getShorthandAssignmentValueSymbol(identifier.parent)
      : symbolsOfFile(identifier.getSourceFile()).get(identifier);
    return symbol && (symbol.flags & SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(symbol) : symbol;
  }

  function ownDeclarations({ declarations = [] }) {
    const nodes = declarations.map((handle) => handle.resolve(project));
    return nodes.filter((node) => node && files.has(fileOf(node)));
  }

  function valuesOf(symbol, declaration, isCarrier) {
    if (declaration.kind === SyntaxKind.Parameter) return [];
    if (declaration.kind === SyntaxKind.BindingElement) return boundValues(declaration, isCarrier);
    if (isInterfaceMember(declaration)) return isCarrier || isCallable(symbol) ? implementations(symbol, declaration) : [];
    if (isAssignedLater(declaration)) return assignedInConstructor(declaration);
    return isField(declaration) && !isCarrier && !isCallable(symbol) ? [] : [declaration];
  }

  /** `const { name } = value` and `({ name }: Type) => …`: the member of that name, and the value that it is taken from. */
  function boundValues(element, isCarrier) {
    const name = element.propertyName ?? element.name;
    if (name.kind !== SyntaxKind.Identifier) return [];
    const type = checker.getTypeAtLocation(element.parent);
    const property = type && checker.getPropertyOfType(type, name.text);
    const members = property ? (isCarrier ? carriedValues(property) : values(property)) : [];
    let owner = element;
    while (owner.kind === SyntaxKind.BindingElement) owner = owner.parent.parent;
    return owner.kind === SyntaxKind.VariableDeclaration ? [owner, ...members] : members;
  }

  /** The members of literals that are typed as the interface; without any, those of this workspace that fit by name and type. */
  function implementations(symbol, declaration) {
    const named = membersByName.get(symbol.name) ?? [];
    const typed = named.filter((member) => {
      const expected = isClass(member.parent) ? heritageOf(member.parent) : contextualType(member.parent);
      const property = expected && checker.getPropertyOfType(expected, symbol.name);
      return property !== undefined && ownDeclarations(property).includes(declaration);
    });
    if (typed.length > 0) return typed;
    const type = checker.getTypeOfSymbol(symbol);
    const workspace = workspaceOf(fileOf(declaration));
    return named.filter((member) => workspaceOf(fileOf(member)) === workspace && fits(member, type));
  }

  function heritageOf({ heritageClauses = [] }) {
    const [first] = heritageClauses.flatMap(({ types }) => [...types]);
    return first && checker.getTypeAtLocation(first);
  }

  function fits(member, type) {
    const own = checker.getTypeAtLocation(member.name);
    return own !== undefined && type !== undefined && checker.isTypeAssignableTo(own, type);
  }
}

/** Members of classes and of object literals, by name. The functions in a literal that is an argument are followed with the call. */
function indexMembers(files) {
  const owners = [...files.values()].flatMap((file) =>
    collect(file, (node) => isClass(node) || (node.kind === SyntaxKind.ObjectLiteralExpression && !isPassed(node))),
  );
  const members = owners.flatMap((owner) => [...(owner.properties ?? owner.members)]).filter(({ name }) => name?.text !== undefined);
  return Map.groupBy(members, ({ name }) => name.text);
}

/** The expression that the constructor of its class assigns to a field. */
function assignedInConstructor({ name, parent }) {
  const isAssignment = ({ kind, left, operatorToken }) =>
    kind === SyntaxKind.BinaryExpression &&
    operatorToken.kind === SyntaxKind.EqualsToken &&
    left.expression?.kind === SyntaxKind.ThisKeyword &&
    left.name?.text === name.text;
  const constructors = parent.members.filter(({ kind }) => kind === SyntaxKind.Constructor);
  return constructors.flatMap((each) => collect(each, isAssignment)).map(({ right }) => right);
}

function isPassed(node) {
  if (isArgumentOf(node.parent, node)) return true;
  return [SyntaxKind.PropertyAssignment, SyntaxKind.ObjectLiteralExpression].includes(node.parent.kind) && isPassed(node.parent);
}

function collect(node, matches, collected = []) {
  if (matches(node)) collected.push(node);
  node.forEachChild((child) => void collect(child, matches, collected));
  return collected;
}

/** Values by key; while one is being worked out it is empty, since names may lead round in a circle. */
function memoize(work) {
  const known = new Map();
  return (key) => {
    if (!known.has(key)) {
      known.set(key, []);
      known.set(key, work(key));
    }
    return known.get(key);
  };
}
