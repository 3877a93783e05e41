/** POST /v1/object: creates an object (REST interface, section 4). */
import { AshlarError } from '../errors.ts'
import type { ObjectChanges } from '../links/object-changes.ts'
import { nearNames } from '../schema/names.ts'
import { shownText } from '../schema/request-body.ts'
import { rootClassName, rootClassRefusal } from '../schema/root-class.ts'
import type { Oid } from '../types/oid.ts'
import { type Attributes, applyAttributes } from './apply-attributes.ts'

/** `className`: full name or class number. Throws UnknownClass, ClassIsInternal, ClassNotReferenceable and what attributes can throw. */
export async function createObject(changes: ObjectChanges, className: string, attributes: Attributes): Promise<Oid> {
  const { catalog } = changes
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
  const state = await changes.create(changes.objects.formats.of(cls))
  await applyAttributes(changes, state, attributes)
  return state.oid
}
