/** The schema that the model tests work on: every kind of attribute and link there is. */

const whole = { logicalType: 'integer' }
const text = { logicalType: 'string' }
const reference = (referencedClass: string, inverseAttribute?: string) => ({
  logicalType: 'reference',
  referencedClass,
  ...(inverseAttribute === undefined ? {} : { inverseAttribute }),
})
const collection = (logicalType: 'list' | 'set', element: object, collectionTypeName?: string) => ({
  logicalType,
  elementSpecification: element,
  ...(collectionTypeName === undefined ? {} : { collectionTypeName }),
})

function describe(className: string, attributes: Record<string, object>, more: object = {}): object {
  return {
    className,
    isReferenceable: true,
    attributes: Object.entries(attributes).map(([attributeName, type]) => ({ attributeName, ...type })),
    ...more,
  }
}

export const modelSchema: readonly object[] = [
  describe('Part', { a: whole, b: text }, { isReferenceable: false }),
  describe('Item', {
    name: text,
    n: whole,
    part: { logicalType: 'object', class: 'Part' },
    uni: reference('Item'),
    plain: collection('list', reference('Item')),
    bag: collection('set', reference('Item')),
    seq: collection('list', reference('Item'), 'TreeListOfReferences'),
    byName: { logicalType: 'map', elementSpecification: reference('Item') },
    left: reference('Item', 'right'),
    right: reference('Item', 'left'),
    spouse: reference('Item', 'spouse'),
    owner: reference('Hub', 'items'),
    group: reference('Hub', 'members'),
    tags: collection('list', reference('Hub', 'tagged')),
    liked: collection('set', reference('Hub', 'likers')),
  }),
  describe('SubItem', { extra: whole }, { superClass: 'Item' }),
  describe('Hub', {
    title: text,
    items: collection('list', reference('Item', 'owner')),
    members: collection('set', reference('Item', 'group')),
    tagged: collection('list', reference('Item', 'tags')),
    likers: collection('list', reference('Item', 'liked')),
  }),
]

export const itemClasses = ['Item', 'SubItem'] as const
export type ModelClass = (typeof itemClasses)[number] | 'Hub'

export type Side = 'one' | 'list' | 'set'
/** Attribute → its side and the attribute at the other end. */
export const pairs: Readonly<
  Record<string, { readonly side: Side; readonly inverse: string; readonly target: 'Item' | 'Hub' }>
> = {
  left: { side: 'one', inverse: 'right', target: 'Item' },
  right: { side: 'one', inverse: 'left', target: 'Item' },
  spouse: { side: 'one', inverse: 'spouse', target: 'Item' },
  owner: { side: 'one', inverse: 'items', target: 'Hub' },
  group: { side: 'one', inverse: 'members', target: 'Hub' },
  tags: { side: 'list', inverse: 'tagged', target: 'Hub' },
  liked: { side: 'set', inverse: 'likers', target: 'Hub' },
  items: { side: 'list', inverse: 'owner', target: 'Item' },
  members: { side: 'set', inverse: 'group', target: 'Item' },
  tagged: { side: 'list', inverse: 'tags', target: 'Item' },
  likers: { side: 'list', inverse: 'liked', target: 'Item' },
}

export interface ModelIndex {
  readonly name: string
  readonly isUnique: boolean
  readonly keys: readonly string[]
}

/** Names share a prefix longer than the four characters that the entries keep. */
export const modelIndexes: readonly ModelIndex[] = [
  { name: 'uniqueName', isUnique: true, keys: ['name'] },
  { name: 'byNumber', isUnique: false, keys: ['n', 'name'] },
  { name: 'uniquePart', isUnique: true, keys: ['part.a', 'part.b'] },
  { name: 'uniqueOwner', isUnique: true, keys: ['owner', 'n'] },
]
