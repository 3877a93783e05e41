/** Resolves the names of classes and attributes (docs/query-language.md, Values). */
import { AshlarError, truncateForMessage } from '../../errors.ts'
import type { SchemaClass, StatementAction } from '../../schema/catalog.ts'
import { didYouMean, listOfNames, simpleNameOf } from '../../schema/names.ts'
import { isRootClass, rootClassName } from '../../schema/root-class.ts'
import type { QualifiedName, Span } from '../language/ast.ts'
import type { BoundAttribute } from './bound.ts'
import type { Binder } from './scope.ts'

/** Finds a class by its full name, or by an unambiguous simple name. */
export function findClass(binder: Binder, name: string): SchemaClass | undefined {
  const { catalog } = binder
  return catalog.classByName(name) ?? bySimpleName(binder, name)[0]
}

/** `isPluralAllowed` admits `Clients` as a source for class `Client`, if no class has that name. Throws QueryError. */
export function resolveClass(binder: Binder, name: QualifiedName, isPluralAllowed = false): SchemaClass {
  const cls = classNamed(binder, name, isPluralAllowed)
  binder.onName?.(name, cls)
  return cls
}

function classNamed(binder: Binder, name: QualifiedName, isPluralAllowed: boolean): SchemaClass {
  const exact = binder.catalog.classByName(name.text)
  if (exact !== undefined) return exact
  for (const text of isPluralAllowed && name.text.endsWith('s') ? [name.text, name.text.slice(0, -1)] : [name.text]) {
    const singular = binder.catalog.classByName(text)
    if (singular !== undefined) return singular
    const candidates = bySimpleName(binder, text)
    if (candidates.length > 1) {
      const names = candidates.map((cls) => cls.name).join(' and ')
      throw binder.error(name, `'${truncateForMessage(text)}' may mean ${names}; write the namespace`)
    }
    if (candidates[0] !== undefined) return candidates[0]
  }
  if (name.text === rootClassName) return binder.catalog.root
  throw binder.error(name, `there is no class '${truncateForMessage(name.text)}'${hintOfClasses(binder, name.text)}`)
}

/** Suggests each class once, by its simple name if that is unambiguous. */
function hintOfClasses({ catalog }: Binder, name: string): string {
  const names = catalog.classes.map(({ name }) => name)
  if (name.includes('.')) return hint(name, names)
  const counts = new Map<string, number>()
  for (const name of names) counts.set(simpleNameOf(name), (counts.get(simpleNameOf(name)) ?? 0) + 1)
  const shortest = names.map((name) => (counts.get(simpleNameOf(name)) === 1 ? simpleNameOf(name) : name))
  return hint(name, shortest) || hint(name, names)
}

/** Rejects the root class, which has no objects, attributes or indexes. Throws QueryError. */
export function refuseRoot(binder: Binder, name: Span, cls: SchemaClass): SchemaClass {
  if (!isRootClass(cls)) return cls
  throw binder.error(
    name,
    `${cls.name} is the root of all referenceable classes: it is read, and deleted from by WHERE, but nothing is created or changed in it`,
  )
}

/** Checks the permission even if no object is affected. Throws Forbidden. */
export function requirePermitted(binder: Binder, cls: SchemaClass, actions: readonly StatementAction[]): void {
  const { permits } = binder.catalog
  if (permits === undefined) return
  for (const action of actions) if (!permits(cls, action)) throw actionDenied(action, cls.name)
}

function actionDenied(action: StatementAction, className: string): AshlarError {
  return new AshlarError('Forbidden', `The caller may not ${action} objects of class ${className}.`)
}

/** `actions`: the actions of the statement. Throws QueryError for a class that is only embedded, and Forbidden. */
export function resolveReferenceable(
  binder: Binder,
  name: QualifiedName,
  actions: readonly StatementAction[],
  isPluralAllowed = false,
): SchemaClass {
  const cls = resolveClass(binder, name, isPluralAllowed)
  if (cls.isReferenceable) {
    requirePermitted(binder, cls, actions)
    return cls
  }
  throw binder.error(name, `class ${cls.name} is embeddable: its objects exist only within other objects`)
}

/** Without a namespace, `ooObj` always denotes the root class. */
function bySimpleName(binder: Binder, name: string): SchemaClass[] {
  if (name.includes('.') || name === rootClassName) return []
  return binder.catalog.classes.filter((cls) => simpleNameOf(cls.name) === name)
}

/** Finds an attribute by `name` or `Super::name`; undefined if absent. Throws QueryError. */
export function findAttribute(binder: Binder, cls: SchemaClass, name: string, span: Span): BoundAttribute | undefined {
  try {
    const found = cls.findAttribute(name)
    if (found === undefined) return undefined
    binder.onName?.(span, found)
    return binder.attribute(cls, found)
  } catch (error) {
    if (error instanceof AshlarError) throw binder.error(span, error.message.replace(/\.$/, ''))
    throw error
  }
}

/** Throws QueryError that suggests similar names, also of attributes of subclasses. */
export function resolveAttribute(binder: Binder, cls: SchemaClass, name: string, span: Span): BoundAttribute {
  const found = findAttribute(binder, cls, name, span)
  if (found !== undefined) return found
  throw unknownAttribute(binder, cls, name, span)
}

/** `otherwise` is the message if no attribute of the class is similar. */
export function unknownAttribute(
  binder: Binder,
  cls: SchemaClass,
  name: string,
  span: Span,
  otherwise = '',
): AshlarError {
  const subclass = cls.subclasses.find((candidate) => candidate.attributes.some((attribute) => attribute.name === name))
  const attributeNames = cls.attributes.map((attribute) => attribute.outputName)
  const advice =
    subclass === undefined
      ? otherwise || hint(name, attributeNames)
      : `; its subclass ${subclass.name} has: CAST(… AS ${subclass.name})`
  return binder.error(span, `class ${cls.name} has no attribute '${truncateForMessage(name)}'${advice}`)
}

/** Returns `. Did you mean a or b?` without the final punctuation, or an empty text. */
export function hint(name: string, candidates: readonly string[]): string {
  const text = didYouMean(name, candidates)
  return text === '' ? '' : `.${text}`
}

const listedMax = 10

/** Like `hint`, but falls back to names with the same beginning, or to all names if they are few. */
export function hintAmongAll(name: string, candidates: readonly string[]): string {
  const lower = name.toLowerCase()
  const alike = candidates.filter((one) => one.toLowerCase().startsWith(lower) || lower.startsWith(one.toLowerCase()))
  const near = hint(name, candidates)
  if (near !== '') return near
  if (alike.length > 0) return `. Did you mean ${alike.slice(0, 3).join(' or ')}?`
  return candidates.length > 0 && candidates.length <= listedMax ? `; there are ${listOfNames(candidates)}` : ''
}
