/** A schema that grows batch by batch in memory, and short forms of the descriptions that it is given. */
import { expect } from 'vitest'
import { AshlarError, type CommandPlace, type ErrorType } from '../../src/errors.ts'
import { readDefineClasses } from '../../src/requests/read-class-descriptions.ts'
import { buildCatalog, emptyCatalogState } from '../../src/schema/build-catalog.ts'
import type { Catalog, SchemaClass } from '../../src/schema/catalog.ts'
import type { CatalogState, IndexDefinition } from '../../src/schema/class-definition.ts'
import type { DefineMode } from '../../src/schema/commands.ts'
import { defineClasses } from '../../src/schema/define-classes.ts'
import { defineIndex } from '../../src/schema/index-definition.ts'
import { type ClassRepresentation, representClass } from '../../src/schema/representation.ts'

type Json = Record<string, unknown>

export const embedded = { isReferenceable: false }

/** A class description; a type may be given as its word alone. */
export function classOf(className: string, attributes: Record<string, string | Json>, more: Json = {}): Json {
  return {
    className,
    isReferenceable: true,
    attributes: Object.entries(attributes).map(([attributeName, type]) => ({
      attributeName,
      ...(typeof type === 'string' ? { logicalType: type } : type),
    })),
    ...more,
  }
}

export function reference(referencedClass: string, inverseAttribute?: string): Json {
  return { logicalType: 'reference', referencedClass, ...(inverseAttribute === undefined ? {} : { inverseAttribute }) }
}

export function list(element: string | Json): Json {
  return { logicalType: 'list', elementSpecification: typeof element === 'string' ? { logicalType: element } : element }
}

export function set(element: Json): Json {
  return { logicalType: 'set', elementSpecification: element }
}

export function embed(className: string): Json {
  return { logicalType: 'object', class: className }
}

export class SchemaUnderTest {
  catalog: Catalog

  constructor(state: CatalogState = emptyCatalogState()) {
    this.catalog = catalogOf(state)
  }

  /** Puts a batch; what it throws leaves the schema as it was. Returns the class numbers. */
  put(...descriptions: unknown[]): number[] {
    return this.define(descriptions, 'createOrExtend')
  }

  define(body: unknown, mode: DefineMode, attributesMax = 1_000): number[] {
    const { state: before } = this.catalog
    const text = JSON.stringify(before)
    try {
      const { state, classNumbers } = defineClasses(this.catalog, readDefineClasses(body, mode), { attributesMax })
      this.catalog = catalogOf(state)
      return [...classNumbers]
    } finally {
      // A state is never changed in place: neither by a batch that fails nor by one that does not.
      expect(JSON.stringify(before) === text).toBe(true)
    }
  }

  index(name: string, indexedClass: string, ...attributeNames: string[]): IndexDefinition {
    const keyAttributes = attributeNames.map((attributeName) => ({ attributeName }))
    const command = { name, indexedClass, isUnique: false, keyAttributes }
    const { definition, state } = defineIndex(this.catalog, command, 16, { sessionNumber: 1, isBackground: false })
    this.catalog = catalogOf(state)
    return definition
  }

  cls(name: string): SchemaClass {
    const cls = this.catalog.classByName(name)
    if (cls === undefined) throw new Error(`no class ${name}`)
    return cls
  }

  read(): ClassRepresentation[] {
    return this.catalog.classes.map((cls) => representClass(cls, this.catalog))
  }
}

export function catalogOf(state: CatalogState): Catalog {
  return buildCatalog(state, Buffer.alloc(8))
}

export function thrownBy(run: () => unknown): AshlarError {
  try {
    run()
  } catch (error) {
    if (error instanceof AshlarError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

/** As the server tells it of a body. */
function pointerOf(place: CommandPlace): string {
  return place.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** The error has that type, that place, and a message with all the words. */
export function expectFault(run: () => unknown, type: ErrorType, pointer: string, ...words: string[]): void {
  const error = thrownBy(run)
  const pointers = error.errors.map(({ place }) => pointerOf(place))
  expect({ type: error.type, pointers, message: error.message }).toMatchObject({
    type,
    pointers: [pointer],
    message: error.message,
  })
  for (const word of words) expect(error.message).toContain(word)
  expect(error.message.length).toBeLessThan(400)
}

/** What was read, without what numbering alone decides. */
export function withoutNumbers(classes: readonly ClassRepresentation[]): unknown[] {
  return classes
    .map(({ classNumber, shapeNumber, ...rest }) => rest)
    .sort((one, other) => (one.className < other.className ? -1 : 1))
}
