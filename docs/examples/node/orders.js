// An order and its warehouse. A machine decides where an event leads an execution, and what that causes: events for
// other executions, and timers. It does nothing else.

function order(exe, event) {
  switch (`${exe.active_path ?? ''} ${event.kind}`) {
    case ' Place':
      if (typeof event.data?.pay_until !== 'number') throw new Error('Place has no pay_until');
      return { to: '/paying', timers: [['schedule', '/paying', event.data.pay_until]] };
    case '/paying Paid': {
      // The id is the dedupe key of an event: the same, whoever decides this step.
      const ship = { id: `${exe.id}:Ship`, kind: 'Ship', data: { order: exe.id } };
      return { to: '/shipping', timers: [['cancel', '/paying', 0]], emits: [['warehouse', ship]] };
    }
    case '/paying Timeout':
      return { to: '/expired', status: 'DONE', outcome: 'expired' };
    case '/shipping Shipped':
      return { to: '/shipped', status: 'DONE', outcome: 'shipped' };
  }
}

function warehouse(exe, event) {
  if (event.kind !== 'Ship') return;
  if (typeof event.data?.order !== 'string') throw new Error('Ship has no order');
  const context = { ...exe.context, shipped: (exe.context?.shipped ?? 0) + 1 };
  const shipped = { id: `${event.data.order}:Shipped`, kind: 'Shipped' };
  return { to: '/open', context, emits: [[event.data.order, shipped]] };
}

export const machines = new Map(Object.entries({ order, warehouse }));
