/** Every number that bounds something in the engine, with its unit in its name (REST interface, section 1, Limits). */
import { assert } from './errors.ts'

export interface EngineLimits {
  /** Attributes a class may have, inherited ones included. */
  readonly classAttributesMax: number
  /** Key attributes an index may have. */
  readonly indexKeyAttributesMax: number
  /** How often a transaction is tried again after a conflict, before the client is told to. */
  readonly transactionAttemptsMax: number
  /** Objects that an index build reads and commits at a time. */
  readonly indexBuildBatchObjects: number
}

export const defaultEngineLimits: EngineLimits = {
  classAttributesMax: 1_000,
  indexKeyAttributesMax: 16,
  transactionAttemptsMax: 50,
  indexBuildBatchObjects: 500,
}

/** Fixed by the interface or the storage layout; changing one changes what is stored. */
export const classNameCharactersMax = 255
export const maxStoredStringLengthDefault = 24
export const maxStoredStringLengthMax = 1_024
export const keyBytesMax = 1_024
export const keyDigestBytes = 16
export const firstClassNumber = 1_000_000
export const firstDatabase = 3
export const firstContainer = 3
export const databaseMax = 65_535
export const containerMax = 32_767
export const pageMax = 65_535
export const slotMax = 65_535

/** Superclasses above a class: all that is inherited is written out in every catalog. */
export const inheritanceDepthMax = 250
/** Embeddable classes within each other; deeper values would not fit into the depth of a JSON body. */
export const embeddingDepthMax = 30
/** Attributes of a class together with those of all its embedded objects: each new object holds that many values. */
export const objectAttributesMax = 10_000

assert(keyBytesMax > 64 + keyDigestBytes, 'a key has room for its digest and its parts')
