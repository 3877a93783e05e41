/** Creates an object (contract 4.1.1 to 4.1.4). */
import { AshlarError } from '../errors.ts'
import { nearNames } from '../schema/names.ts'
import { shownText } from '../schema/request-body.ts'
import { rootClassName, rootClassRefusal } from '../schema/root-class.ts'
import type { Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { type Attributes, applyAttributes } from './apply-attributes.ts'

/** `className`: full name or class number. Throws UnknownClass, ClassIsInternal, ClassNotReferenceable and what attributes can throw. */
export async function createObject(unit: UnitOfWork, className: string, attributes: Attributes): Promise<Oid> {
  const { catalog } = unit
  const cls = catalog.findClass(className)
  if (cls === undefined && className === rootClassName) {
    throw rootClassRefusal('/class', 'an object is created in one of the classes below it')
  }
  if (cls === undefined) {
    const near = nearNames(
      className,
      catalog.classes.map(({ name }) => name),
    )
    const hint = near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
    throw new AshlarError('UnknownClass', `There is no class '${shownText(className)}'.${hint}`, [
      { pointer: '/class', message: 'is not a class' },
    ])
  }
  if (!cls.isReferenceable) {
    throw new AshlarError(
      'ClassNotReferenceable',
      `Class ${cls.name} is embeddable: its objects exist only within other objects.`,
      [{ pointer: '/class', message: 'is embeddable' }],
    )
  }
  const state = await unit.create(unit.objects.formats.of(cls))
  await applyAttributes(unit, state, attributes)
  return state.oid
}
