/** Applies requested renames to a schema, so that the remaining changes can be derived from it. */
import { usageError } from '../errors/command-error.ts'
import type { SchemaState } from './schema-state.ts'
import { type AlterationRequest, alteredSchema } from './scratch-schema.ts'

/** `Fleet.Car=Fleet.Vehicle` for a class, `Fleet.Vehicle.mileage=distance` for an attribute. */
export type Renames = readonly string[]

export interface RenamedSchema {
  readonly schema: SchemaState
  readonly classes: readonly Pair[]
  /** Attribute renames, by the new class name. */
  readonly attributes: readonly (Pair & { readonly className: string })[]
  /** A sentence for each rename that is already done, for example by an interrupted command. */
  readonly done: readonly string[]
}

interface Pair {
  readonly from: string
  readonly to: string
}

/** Renames classes before attributes, which may be given under either name of their class. Throws CommandError for unknown names. */
export async function applyRenames(schema: SchemaState, renames: Renames): Promise<RenamedSchema> {
  const classNames = new Set(schema.classes.map(({ className }) => className))
  const pairs = renames.map(pairOf)
  const classes = pairs.filter(({ from }) => classNames.has(from))
  const isDoneClass = ({ from, to }: Pair): boolean =>
    !classNames.has(from) && classNames.has(to) && !classNames.has(from.slice(0, Math.max(0, from.lastIndexOf('.'))))
  const doneClasses = pairs.filter(isDoneClass)
  const newNames = new Map([...classes, ...doneClasses].map(({ from, to }) => [from, to]))
  const named = (className: string): string => newNames.get(className) ?? className
  const byName = new Map(schema.classes.map((cls) => [named(cls.className), cls]))
  const done = doneClasses.map(({ from, to }) => `${from} is ${to} already.`)
  const attributes = pairs
    .filter((pair) => !classNames.has(pair.from) && !doneClasses.includes(pair))
    .flatMap(({ from, to }) => {
      const at = from.lastIndexOf('.')
      const className = named(from.slice(0, Math.max(0, at)))
      const attribute = from.slice(at + 1)
      const cls = byName.get(className)
      const has = (name: string): boolean =>
        cls?.attributes.some(({ attributeName }) => attributeName === name) === true
      if (has(attribute)) return [{ className, from: attribute, to }]
      if (!has(to)) throw usageError(`There is no class or attribute ${from} to rename.`)
      done.push(`${from} is ${className}.${to} already.`)
      return []
    })
  const alterations = [
    ...classes.map(({ from, to }): AlterationRequest => [from, { classRename: qualifyClassName(to) }]),
    ...attributes.map(({ className, from, to }): AlterationRequest => {
      return [className, { attributesToRename: [{ originalName: from, newName: to }] }]
    }),
  ]
  return { classes, attributes, done, schema: await alteredSchema(schema, alterations) }
}

/** Without a dot, a renamed class would stay in its namespace. */
export function qualifyClassName(className: string): string {
  return className.includes('.') ? className : `.${className}`
}

function pairOf(rename: string): Pair {
  const [from = '', to = '', ...others] = rename.split('=')
  if (from === '' || to === '' || others.length > 0)
    throw usageError(`${rename} is not a rename, which is written old=new.`)
  return { from, to }
}
