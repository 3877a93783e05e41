/** Values of attributes whose type is changing: what is written meanwhile has to fit (REST interface, section 5). */
import { AshlarError } from '../errors.ts'
import { shownValue } from '../types/logical-type.ts'
import type { ClassFormat, FormatSource } from './class-format.ts'
import { visitValues } from './visit-values.ts'

/** Throws ValueNotAllowed, naming class, attribute and value. */
export function checkChangingValues(format: ClassFormat, values: readonly unknown[], formats: FormatSource): void {
  visitValues(format, values, formats, (owner, attribute, value) => {
    const { becoming, codec } = attribute
    if (becoming === undefined || value === null || becoming.isTaken(value)) return
    const { name } = attribute.attribute
    throw new AshlarError(
      'ValueNotAllowed',
      `Class ${owner.cls.name}: the type of attribute ${name} is being changed, and ${shownValue(codec.toJson(value))} would not fit it.`,
      [{ pointer: `/attributes/${name}`, message: 'does not fit the type that the attribute is to have' }],
    )
  })
}
