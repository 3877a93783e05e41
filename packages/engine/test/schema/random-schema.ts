/** Random schemas that are possible: classes of both kinds, inheritance, all types, links in pairs. */
import fc from 'fast-check'
import { classOf, embed, list, reference, set } from './schema-under-test.ts'

type Json = Record<string, unknown>

const scalars: fc.Arbitrary<Json> = fc.oneof(
  fc
    .constantFrom(
      'boolean',
      'guid',
      'date',
      'time',
      'interval',
      'datetime',
      'character',
      'real',
      'decimal',
      'integer',
      'string',
      'bytes',
    )
    .map((logicalType) => ({ logicalType })),
  fc.record({
    logicalType: fc.constant('integer'),
    encoding: fc.constantFrom('signed', 'UNSIGNED'),
    storage: fc.constantFrom('b8', 'b16', 'b32', 'B64'),
  }),
  fc.record({
    logicalType: fc.constant('String'),
    encoding: fc.constantFrom('byte', 'utf8', 'utf16', 'utf32'),
    storage: fc.constantFrom('fixed', 'optimized'),
    fixedLength: fc.integer({ min: 1, max: 99 }),
  }),
  fc.record({ logicalType: fc.constant('decimal'), precision: fc.integer({ min: 9, max: 38 }), scale: fc.nat(9) }),
  fc.record({ logicalType: fc.constant('datetime'), storage: fc.constantFrom('datetime', 'datetimeoffset') }),
)

/** A few numbers decide over one attribute: which type, and which class it is about. */
const choices = fc.array(fc.record({ kind: fc.nat(9), about: fc.nat(20), scalar: scalars, isToMany: fc.boolean() }), {
  maxLength: 5,
})

const names = ['A', 'N.A', 'N.B', 'N.M.C', 'Z', 'constructor', 'Default.D', 'null.E']

interface Plan {
  readonly classes: readonly {
    readonly isReferenceable: boolean
    readonly above: number | undefined
    readonly attributes: readonly Choice[]
  }[]
}
type Choice = { readonly kind: number; readonly about: number; readonly scalar: Json; readonly isToMany: boolean }

const plans: fc.Arbitrary<Plan> = fc.record({
  classes: fc.array(
    fc.record({ isReferenceable: fc.boolean(), above: fc.option(fc.nat(7), { nil: undefined }), attributes: choices }),
    { minLength: 1, maxLength: names.length },
  ),
})

/** Class descriptions that can be put together, in an order where nothing is defined before what it needs least. */
export const randomSchemas: fc.Arbitrary<Json[]> = plans.map(({ classes }) => {
  const attributes = classes.map((): Record<string, Json> => ({}))
  const kinds = classes.map(({ isReferenceable }) => isReferenceable)
  const pick = (from: readonly number[], about: number) => from[about % Math.max(1, from.length)]
  const below = classes.map((cls, i) => {
    const candidates = kinds.flatMap((kind, j) => (j < i && kind === cls.isReferenceable ? [j] : []))
    return cls.above === undefined ? undefined : pick(candidates, cls.above)
  })
  const referenceable = kinds.flatMap((kind, i) => (kind ? [i] : []))
  classes.forEach((cls, i) => {
    cls.attributes.forEach((choice, position) => {
      // Few names, so that subclasses hide what they inherit.
      const name = `a${position}`
      const far = pick(referenceable, choice.about)
      // Of classes before its own only, and not above it: nothing embeds itself.
      const part = pick(
        kinds.flatMap((kind, j) => (!kind && j < i && below[j] === undefined ? [j] : [])),
        choice.about,
      )
      const own = attributes[i] as Record<string, Json>
      if (choice.kind < 4) own[name] = choice.scalar
      else if (choice.kind < 5) own[name] = list(choice.scalar)
      else if (choice.kind < 7 && far !== undefined)
        own[name] = referring(attributes, names[far] as string, far, choice)
      else if (choice.kind < 8 && part !== undefined)
        own[name] = choice.isToMany ? list(embed(names[part] as string)) : embed(names[part] as string)
      else if (cls.isReferenceable && far !== undefined) pair(attributes, [i, far], `${i}_${position}`, choice)
    })
  })
  return classes.map((cls, i) => {
    const superClass = below[i] === undefined ? null : (names[below[i] as number] as string)
    return classOf(names[i] as string, attributes[i] as Record<string, Json>, {
      isReferenceable: cls.isReferenceable,
      superClass,
    })
  })
})

/** Some by way of edge objects: the far class then leads on to itself. */
function referring(attributes: readonly Record<string, Json>[], name: string, far: number, choice: Choice): Json {
  const isEdge = choice.about % 3 === 0
  if (isEdge) (attributes[far] as Record<string, Json>).leads = reference(name)
  const one = { ...reference(name), ...(isEdge ? { edgeClass: name, edgeAttribute: 'leads' } : {}) }
  return choice.isToMany ? set(one) : one
}

function pair(attributes: Record<string, Json>[], [near, far]: [number, number], key: string, choice: Choice): void {
  const [there, back] = [`to${key}`, `from${key}`]
  const side = (about: number, inverse: string, isToMany: boolean) => {
    const one = reference(names[about] as string, inverse)
    return isToMany ? (choice.about % 2 === 0 ? list(one) : set(one)) : one
  }
  ;(attributes[near] as Record<string, Json>)[there] = side(far, back, choice.isToMany)
  ;(attributes[far] as Record<string, Json>)[back] = side(near, there, choice.kind === 9)
}
