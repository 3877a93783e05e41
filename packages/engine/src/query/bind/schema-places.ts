/** Maps positions in a schema command to the source text of its statement, for errors. */
import type { CommandPlace } from '../../errors.ts'
import type {
  AttributeDeclaration,
  CreateIndexStatement,
  SchemaChange,
  Span,
  TypeExpression,
  TypeSetting,
} from '../language/ast.ts'
import { attributePropertyNamed } from '../parse/parse-property.ts'
import {
  type AddingChange,
  type AlterClassChange,
  addedAttributes,
  alterationsOf,
  settingField,
} from './bind-schema.ts'

/** For `bindDefineClasses`. */
export function placesOfAdding(adding: readonly AddingChange[]): (place: CommandPlace) => Span | undefined {
  return ([position, ...steps]) => {
    const change = adding[Number(position)]
    return change === undefined ? adding[0] : spanOfAdding(change, steps)
  }
}

function spanOfAdding(change: AddingChange, [field, ...steps]: CommandPlace): Span {
  if (field === 'attributes') {
    const attributes = change.kind === 'createClass' ? change.attributes : addedAttributes(change)
    return spanInList(attributes, steps, spanInAttribute) ?? change
  }
  if (field === 'superClass' && change.kind === 'createClass') return change.superClass ?? change
  if (field === 'checks' && change.kind === 'createClass') return change.checks[Number(steps[0])] ?? change
  const property = change.kind === 'createClass' ? change.properties.find((one) => one.field === field) : undefined
  return field === 'className' ? change.className : (property ?? change)
}

/** For `bindAlterClass` and the other commands about one class. */
export function placesOfChange(change: SchemaChange): (place: CommandPlace) => Span {
  return ([field, ...steps]) => {
    if (change.kind === 'renameClass' && field === 'classRename') return change.newName
    return (change.kind === 'alterClass' ? spanInLists(change, field, steps) : undefined) ?? change
  }
}

function spanInLists(
  change: AlterClassChange,
  field: CommandPlace[0] | undefined,
  steps: CommandPlace,
): Span | undefined {
  switch (field) {
    case 'attributesToDelete':
      return spanInList(alterationsOf(change, 'drop'), steps, ({ name }) => name)
    case 'attributesToRename':
      return spanInList(alterationsOf(change, 'rename'), steps, ({ name, newName }, [which]) => {
        return which === 'newName' ? newName : name
      })
    case 'attributesToAdd':
      return spanInList(addedAttributes(change), steps, spanInAttribute)
    case 'attributesToConstrain':
      return spanInList(alterationsOf(change, 'alter'), steps, (alteration, inner) => {
        return inner[0] === 'attributeName' ? alteration.name : spanInSettings(alteration.settings, inner, alteration)
      })
    case 'classFields':
      return spanOfClassField(change, steps)
    default:
      return undefined
  }
}

function spanOfClassField(change: AlterClassChange, [field]: CommandPlace): Span | undefined {
  const settings = alterationsOf(change, 'set')
  return settings.flatMap(({ properties }) => properties).find((one) => one.field === field) ?? settings[0]
}

function spanInAttribute(attribute: AttributeDeclaration, steps: CommandPlace): Span {
  return steps.length === 0 || steps[0] === 'attributeName' ? attribute : spanInType(attribute.type, steps)
}

/** For `bindCreateIndex`. */
export function placesOfIndex(statement: CreateIndexStatement): (place: CommandPlace) => Span {
  return ([field, ...steps]) => {
    if (field === 'name') return statement.name
    if (field === 'indexedClass') return statement.className
    return (field === 'keyAttributes' ? spanInList(statement.attributes, steps, (key) => key) : undefined) ?? statement
  }
}

/** `spanIn` follows the further steps within an element. */
function spanInList<T>(
  elements: readonly T[],
  [position, ...steps]: CommandPlace,
  spanIn: (element: T, steps: CommandPlace) => Span,
): Span | undefined {
  const element = position === undefined ? undefined : elements[Number(position)]
  return element && spanIn(element, steps)
}

/** Falls back to the type for a missing setting; an error inside a setting points to all of it. */
function spanInType(type: TypeExpression, steps: CommandPlace): Span {
  return spanInSettings(type.settings, steps, type)
}

function spanInSettings(settings: readonly TypeSetting[], [field, ...steps]: CommandPlace, fallback: Span): Span {
  const setting = settings.find(({ name }) => {
    return (settingField(name) ?? attributePropertyNamed(name)?.field) === field
  })
  if (setting === undefined) return fallback
  const { value } = setting
  return typeof value === 'number' || 'json' in value ? setting : spanInType(value, steps)
}
