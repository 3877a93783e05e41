/** `ooObj`: the root of all referenceable classes. It is not stored, has no objects or attributes, and cannot be changed. */
import { AshlarError, type CommandPlace } from '../errors.ts'
import type { ClassNumber, ShapeNumber } from '../types/type-spec.ts'
import type { ClassAttribute, SchemaClass } from './catalog.ts'
import type { ClassDefinition, IndexDefinition, Shape } from './class-definition.ts'

export const rootClassName = 'ooObj'
/** The number in references to objects of any class; reserved and unavailable to requests. */
export const rootClassNumber = 0 as ClassNumber

export const rootDefinition: ClassDefinition = {
  number: rootClassNumber,
  name: rootClassName,
  isReferenceable: true,
  isDeleted: false,
  superClass: null,
  shapeNumber: 0 as ShapeNumber,
  attributes: [],
}

/** The root in one catalog: a superclass of each of its referenceable classes. */
export class RootClass implements SchemaClass {
  readonly definition = rootDefinition
  readonly number = rootClassNumber
  readonly name = rootClassName
  readonly namespace = null
  readonly isReferenceable = true
  readonly superClass = null
  readonly shape: Shape = { number: rootDefinition.shapeNumber, classNumber: rootClassNumber, attributes: [] }
  readonly attributes: readonly ClassAttribute[] = []
  readonly indexes: readonly IndexDefinition[] = []
  private readonly classes: readonly SchemaClass[]
  private below: readonly SchemaClass[] | undefined

  /** `classes`: all classes of the catalog, by class number. */
  constructor(classes: readonly SchemaClass[]) {
    this.classes = classes
  }

  get subclasses(): readonly SchemaClass[] {
    this.below ??= this.classes.filter(({ isReferenceable }) => isReferenceable)
    return this.below
  }

  isOrInherits(ancestor: ClassNumber): boolean {
    return ancestor === rootClassNumber
  }

  findAttribute(): undefined {
    return undefined
  }
}

export function isRootClass({ number }: Pick<SchemaClass, 'number'>): boolean {
  return number === rootClassNumber
}

/** For commands that name it when no class of the federated database has that name. `place`: undefined if it is the subject of the whole command. */
export function rootClassRefusal(place: CommandPlace | undefined, words: string): AshlarError {
  const details = place === undefined ? [] : [{ place, message: 'is the root of all classes' }]
  return new AshlarError(
    'ClassIsInternal',
    `${rootClassName} is the root of all referenceable classes: ${words}.`,
    details,
  )
}
