/** The tables of one store. */
import type { KeyPlacement } from '../key-placement.ts'

export interface Tables {
  readonly schema: string
  readonly keys: KeyPlacement
}
