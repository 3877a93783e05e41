/** View of an object of which only some attribute values are known: it has no OID, class or record. */
import { ObjectView } from './object-view.ts'
import { valueBytes } from './value-bytes.ts'

const noRecord = Buffer.alloc(0)

export class ValuesView extends ObjectView {
  /** By position of the attribute in the class. */
  readonly values: readonly unknown[]

  constructor(values: readonly unknown[]) {
    super(undefined, undefined, undefined, noRecord)
    this.values = values
  }

  override get bytes(): number {
    return valueBytes(this.values)
  }

  override value(index: number): unknown {
    return this.values[index]
  }

  /** It borrows no bytes. */
  override copy(): ObjectView {
    return this
  }

  override writeStoredJson(): boolean {
    return false
  }
}
