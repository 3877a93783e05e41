/** Writes the classes of a schema as TypeScript declarations for the typed interface of `@ashlar/client`. */
import type { AttributeDefinition, TypeDefinition } from '@ashlar/client'
import { packageName } from '@ashlar/server/shared'
import type { ListedClass } from '../schema/schema-state.ts'

/** How the client is configured that reads the values. */
export interface DeclarationOptions {
  /** Instants are `Date`, not strings. */
  readonly dates?: boolean
  /** Integers of 64 bits are `number | bigint`. */
  readonly bigint?: boolean
}

/** The package of the typed interface: the one that the program comes with, if it has it. */
const packageOfTypes = packageName === 'ashlar' ? packageName : '@ashlar/client'

/** The same classes and options give the same text, whatever their order. Tabs and unions without blanks keep that of a large schema small. */
export function declarationsOf(all: readonly ListedClass[], options: DeclarationOptions = {}): string {
  const classes = [...all].sort((one, other) => (one.className < other.className ? -1 : 1))
  const writer = new Writer(classes, options)
  const interfaces = classes.map((cls) => writer.interfaceOf(cls))
  const entries = classes.filter((cls) => cls.isReferenceable).map((cls) => writer.entryOf(cls))
  const read = [options.dates === true ? 'dates: true' : '', options.bigint === true ? "integers: 'bigint'" : '']
  const settings = read.filter((setting) => setting !== '')
  if (settings.length > 0) entries.unshift(`\t[${writer.use('reads')}]: { ${settings.join('; ')} }`)
  const imports = writer.imports()
  return [
    '/** Written by `ashlar types`. Do not edit: run it again after changes of the schema. */',
    ...(imports.length === 0 ? [] : [`import type { ${imports.join(', ')} } from '${packageOfTypes}'`]),
    '',
    ['export interface Schema {', ...entries, '}'].join('\n'),
    ...interfaces.map((text) => `\n${text}`),
    '',
  ].join('\n')
}

/** Names of classes that TypeScript reserves for types, or that the file imports. */
const reserved = new Set(
  (
    'any bigint boolean never null number object string symbol undefined unknown void break case catch class const continue debugger default delete do else enum ' +
    'export extends false finally for function if import in instanceof new return super switch this throw true try typeof var while with implements interface let ' +
    'package private protected public static yield await Schema Bytes Date Decimal Entity Fields Id Json Keyed Many One Part Parts Omit is reads'
  ).split(' '),
)

class Writer {
  private readonly byName: ReadonlyMap<string, ListedClass>
  private readonly subclasses = new Map<string, ListedClass[]>()
  private readonly used = new Set<string>()
  private readonly options: DeclarationOptions

  constructor(classes: readonly ListedClass[], options: DeclarationOptions) {
    this.options = options
    this.byName = new Map(classes.map((cls) => [cls.className, cls]))
    for (const cls of classes) {
      if (cls.superClass !== null) {
        this.subclasses.set(cls.superClass, [...(this.subclasses.get(cls.superClass) ?? []), cls])
      }
    }
  }

  imports(): string[] {
    return [...this.used].sort()
  }

  /** Returns the name, which is to be imported. */
  use(name: string): string {
    this.used.add(name)
    return name
  }

  entryOf({ className }: ListedClass): string {
    const key = className.includes('.') ? text(className) : className
    return `\t${key}: ${identifier(className)}`
  }

  interfaceOf(cls: ListedClass): string {
    const above = cls.superClass === null ? undefined : this.byName.get(cls.superClass)
    const inherited = above === undefined ? [] : this.attributesOf(above)
    const hidden = cls.attributes.filter((own) => inherited.some((one) => one.attributeName === own.attributeName))
    const base = above === undefined ? '' : ` extends ${this.baseOf(above, hidden)}`
    const attributes = [...cls.attributes].sort((one, other) => (one.attributeName < other.attributeName ? -1 : 1))
    const members = attributes.map((attribute) => `${commentOf(attribute)}\t${this.memberOf(attribute)}`)
    const info = this.infoOf(cls, hidden.length === 0 ? above : undefined)
    const own = cls.isReferenceable ? [`\t$id: ${this.use('Id')}<${union(this.concrete(cls))}>`] : []
    const lines = info === undefined ? [...own, ...members] : [...own, `\t[${this.use('is')}]: ${info}`, ...members]
    return [`export interface ${identifier(cls.className)}${base} {`, ...lines, '}'].join('\n')
  }

  private baseOf({ className }: ListedClass, hidden: readonly AttributeDefinition[]): string {
    if (hidden.length === 0) return identifier(className)
    const names = hidden.map(({ attributeName }) => text(attributeName)).sort()
    return `Omit<${identifier(className)}, ${names.join('|')}|typeof ${this.use('is')}>`
  }

  /** Includes inherited attributes; one of a subclass hides that of its superclass. */
  private attributesOf(cls: ListedClass): AttributeDefinition[] {
    const above = cls.superClass === null ? undefined : this.byName.get(cls.superClass)
    const own = new Set(cls.attributes.map(({ attributeName }) => attributeName))
    const inherited = above === undefined ? [] : this.attributesOf(above)
    return [...inherited.filter(({ attributeName }) => !own.has(attributeName)), ...cls.attributes]
  }

  /** `above`: the superclass whose fields are inherited. Undefined: no attribute of the class itself is required, computed or read-only. */
  private infoOf(cls: ListedClass, above: ListedClass | undefined): string | undefined {
    const attributes = above === undefined ? this.attributesOf(cls) : cls.attributes
    const names = [
      attributes.filter((attribute) => this.isRequired(attribute)),
      attributes.filter(({ computed }) => computed !== undefined),
      attributes.filter(({ isReadOnly }) => isReadOnly === true),
    ].map((chosen) => union(chosen.map(({ attributeName }) => attributeName)))
    while (names.at(-1) === 'never') names.pop()
    if (names.length === 0) return undefined
    const own = `${this.use('Fields')}<${names.join(', ')}>`
    return above === undefined || !this.hasInfo(above) ? own : `${own}&${identifier(above.className)}[typeof is]`
  }

  private hasInfo(cls: ListedClass): boolean {
    return this.attributesOf(cls).some((one) => this.isRequired(one) || one.computed !== undefined || one.isReadOnly)
  }

  private concrete(cls: ListedClass): string[] {
    const below = (this.subclasses.get(cls.className) ?? []).flatMap((subclass) => this.concrete(subclass))
    return cls.properties.isAbstract === true ? below : [cls.className, ...below]
  }

  /** Returns whether a creation must give the attribute. */
  private isRequired({ isRequired, computed, class: part, ...attribute }: AttributeDefinition): boolean {
    if (computed !== undefined) return false
    const embedded = part === undefined ? undefined : this.byName.get(part)
    if (embedded !== undefined) return this.attributesOf(embedded).some((inner) => this.isRequired(inner))
    return isRequired === true && (attribute.default ?? null) === null
  }

  private memberOf(attribute: AttributeDefinition): string {
    const { attributeName, computed, isRequired } = attribute
    const { logicalType, inverseAttribute = '', onTargetDelete = 'keep' } = attribute
    const isCollection = ['list', 'set', 'map', 'object'].includes(logicalType)
    // A required reference in one direction dangles when its target is deleted.
    const mayDangle = logicalType === 'reference' && inverseAttribute === '' && onTargetDelete === 'keep'
    const isNullable = !isCollection && (isRequired !== true || mayDangle || computed !== undefined)
    const type = this.typeOf(attribute)
    return `${attributeName}: ${type}${isNullable && type !== 'Json' ? '|null' : ''}`
  }

  private typeOf(type: TypeDefinition): string {
    const { logicalType, storage, enumeration, elementSpecification: element } = type
    if (enumeration !== undefined) return enumeration.map(enumerated).join('|')
    switch (logicalType) {
      case 'boolean':
        return 'boolean'
      case 'integer':
        return storage === 'b64' && this.options.bigint === true ? 'number|bigint' : 'number'
      case 'real':
        return 'number'
      case 'decimal':
        return this.use('Decimal')
      case 'bytes':
        return this.use('Bytes')
      case 'json':
        return this.use('Json')
      case 'datetime':
        return storage === 'datetimeoffset' && this.options.dates === true ? 'Date' : 'string'
      case 'reference':
        return `${this.use('One')}<${this.target(type)}>`
      case 'object':
        return `${this.use('Part')}<${identifier(type.class ?? '')}>`
      case 'map':
        return `${this.use('Keyed')}<${this.entity(element)}>`
      case 'list':
      case 'set':
        return this.collectionOf(element ?? { logicalType: 'string' })
      default:
        return 'string'
    }
  }

  private collectionOf(element: TypeDefinition): string {
    if (element.logicalType === 'reference') return `${this.use('Many')}<${this.target(element)}>`
    if (element.logicalType === 'object') return `${this.use('Parts')}<${identifier(element.class ?? '')}>`
    const type = this.typeOf(element)
    return type.includes('|') ? `(${type})[]` : `${type}[]`
  }

  private target(type: TypeDefinition): string {
    const { inverseAttribute = '' } = type
    return inverseAttribute === '' ? this.entity(type) : `${this.entity(type)}, ${text(inverseAttribute)}`
  }

  /** A reference to `ooObj` may lead to any object. */
  private entity({ referencedClass, edgeClass }: Partial<TypeDefinition> = {}): string {
    const className = referencedClass ?? edgeClass ?? ''
    return this.byName.has(className) ? identifier(className) : this.use('Entity')
  }
}

function enumerated(value: unknown): string {
  const one = typeof value === 'object' && value !== null && 'value' in value ? value.value : value
  return typeof one === 'string' ? text(one) : String(one)
}

function union(names: readonly string[]): string {
  return names.length === 0 ? 'never' : [...names].sort().map(text).join('|')
}

/** No name of a class contains a dollar sign, so that different classes get different identifiers. */
function identifier(className: string): string {
  const name = className.replaceAll('.', '$')
  return reserved.has(name) ? `${name}$` : name
}

function text(value: string): string {
  const inner = JSON.stringify(value).slice(1, -1).replaceAll(String.raw`\"`, '"').replaceAll("'", String.raw`\'`)
  return `'${inner}'`
}

function commentOf({ title, description }: AttributeDefinition): string {
  const words = [title, description].filter((part) => part !== undefined).join(': ')
  return words === '' ? '' : `\t/** ${words.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ')} */\n`
}
