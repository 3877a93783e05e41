/** A unit of work for objects that were valid in their source: the existence of reference targets is not checked. */
import { AshlarError } from '../errors.ts'
import type { ClassFormat } from '../records/class-format.ts'
import type { Oid } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { ReferenceLocation } from '../write/reference-error.ts'
import { UnitOfWork } from '../write/unit-of-work.ts'

export class RebuildingUnit extends UnitOfWork {
  override readonly isUnchecked = true

  /** References without an inverse may dangle, and are retained. Throws InvalidReference. */
  override async checkReference(
    target: Oid,
    referencedClass: ClassNumber,
    place: ReferenceLocation,
  ): Promise<ClassFormat> {
    const cls = await this.classOf(target)
    const expected = this.catalog.classByNumber(referencedClass) ?? this.catalog.root
    if (cls === undefined) return this.objects.formats.of(expected)
    if (cls.isOrInherits(referencedClass)) return this.objects.formats.of(cls)
    const message = `${place.className}.${place.attributeName} refers to ${target}, which is of class ${cls.name}, not ${expected.name}.`
    throw new AshlarError('InvalidReference', message)
  }
}
