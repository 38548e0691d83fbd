import { config, type core } from 'zod'
import { formStrings as words } from '../../strings/everywhere/forms.ts'
import { formatCount } from '../../strings/everywhere/units.ts'

// Set before any schema is made (`schemas.ts` imports this file first). Without `jitless`, zod tries `new Function`, which
// the content security policy of the page refuses.
config({ jitless: true, customError: messageOf })

/** The message of an issue for the person who fills in the form; undefined for zod's own message. */
function messageOf(issue: core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined || issue.input === '') return words.required
  switch (issue.code) {
    case 'invalid_type':
      if (issue['expected'] === 'int') return words.wholeNumber
      return issue['expected'] === 'number' ? words.number : undefined
    case 'too_small':
      if (issue['origin'] === 'string') return undefined
      return issue['inclusive'] === true ? words.atLeast(numberOf(issue)) : words.moreThan(numberOf(issue))
    case 'too_big':
      return issue['origin'] === 'string' ? words.tooLong(numberOf(issue)) : words.atMost(numberOf(issue))
    default:
      return undefined
  }
}

function numberOf(issue: core.$ZodRawIssue): string {
  return formatCount(Number(issue['minimum'] ?? issue['maximum']))
}
