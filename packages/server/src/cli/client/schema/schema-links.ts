/** The lines of a diagram: which class refers to, embeds or extends which. */
import type { AttributeDefinition } from '@ashlar/client'
import type { SchemaState } from './schema-state.ts'

export interface SchemaLink {
  readonly from: string
  readonly to: string
  readonly kind: 'extends' | 'embeds' | 'refers'
  /** The attribute; of a link with two sides, both. */
  readonly label: string
  /** Whether several of `to` belong to one of `from`, and the reverse, where that is known. */
  readonly isMany: boolean
  readonly isManyBack: boolean | undefined
}

/** Between classes of the schema; a link with two sides is one line. */
export function linksOf({ classes }: SchemaState): SchemaLink[] {
  const byName = new Map(classes.map((cls) => [cls.className, cls]))
  const drawn = new Set<string>()
  return classes.flatMap(({ className, superClass, attributes }): SchemaLink[] => {
    const above = superClass !== null && byName.has(superClass) ? [superClass] : []
    const ofAttributes = attributes.flatMap((attribute): SchemaLink[] => {
      const { referencedClass, inverseAttribute, class: embedded } = targetOf(attribute)
      const to = referencedClass ?? embedded
      if (to === undefined || !byName.has(to) || drawn.has(`${className}.${attribute.attributeName}`)) return []
      const inverse = byName.get(to)?.attributes.find(({ attributeName }) => attributeName === inverseAttribute)
      if (inverse !== undefined) drawn.add(`${to}.${inverse.attributeName}`)
      return [
        {
          from: className,
          to,
          kind: referencedClass === undefined ? 'embeds' : 'refers',
          label:
            inverse === undefined ? attribute.attributeName : `${attribute.attributeName} / ${inverse.attributeName}`,
          isMany: isMany(attribute),
          isManyBack: inverse === undefined ? undefined : isMany(inverse),
        },
      ]
    })
    const extended = above.map((to): SchemaLink => {
      return { from: className, to, kind: 'extends', label: '', isMany: false, isManyBack: undefined }
    })
    return [...extended, ...ofAttributes]
  })
}

function targetOf(attribute: AttributeDefinition): Omit<AttributeDefinition, 'attributeName'> {
  return attribute.elementSpecification ?? attribute
}

function isMany({ elementSpecification }: AttributeDefinition): boolean {
  return elementSpecification !== undefined
}
