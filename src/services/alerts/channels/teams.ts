import type { Notification } from '../notification.ts'
import { idHeader, type SendThrough } from './channel.ts'

/** An Adaptive Card for a workflow of Microsoft Teams that takes webhook requests. */
export const sendToTeams: SendThrough<'teams'> = (tools, { url }, { notification, signal }) =>
  tools.send({ url, headers: idHeader(notification), body: JSON.stringify(teamsMessage(notification)), signal })

function teamsMessage(notification: Notification) {
  const { title, facts, alert, event } = notification
  const card = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      {
        type: 'TextBlock',
        text: plain(title),
        size: 'Large',
        weight: 'Bolder',
        color: colorOf(notification),
        wrap: true,
      },
      ...(facts.length === 0
        ? []
        : [{ type: 'FactSet', facts: facts.map(({ name, value }) => ({ title: name, value: plain(value) })) }]),
      {
        type: 'TextBlock',
        text: plain(`Alert ${alert.name} · ${event.at}`),
        isSubtle: true,
        size: 'Small',
        wrap: true,
      },
    ],
    msteams: { width: 'Full' },
  }
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card }],
  }
}

function colorOf({ kind, severity }: Notification): string {
  if (kind === 'resolve') return 'Good'
  return severity === 'info' ? 'Default' : severity === 'warning' ? 'Warning' : 'Attention'
}

/** Cards read Markdown: an escaped bracket begins no link. */
function plain(text: string): string {
  return text.replaceAll(/[\\[\]*_]/g, (character) => `\\${character}`)
}
