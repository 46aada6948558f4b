// The extension of JupyterLab for notebooks whose kernel is xstate.
//
// With each cell that runs it sends the text of all cells, in order, for Jupyter sends a kernel no other cell. It shows
// the state of each cell in the margin, sums up in the status bar, and puts refreshed outputs in place.
//
// JupyterLab loads this file as it loads one that a bundler made: a container of module federation, with init and get.
"use strict";

(() => {
  const NAME = "xstate-engine";
  const TARGET = "xstate"; // of the comm

  const STYLE = `
.jp-Cell[data-xstate] .jp-InputPrompt { position: relative; }
.jp-Cell[data-xstate] .jp-InputPrompt::before {
  content: ""; position: absolute; left: 2px; top: 6px; bottom: 6px; width: 4px; border-radius: 2px;
}
.jp-Cell[data-xstate=fresh] .jp-InputPrompt::before { background: var(--jp-success-color1, #388e3c); opacity: 0.45; }
.jp-Cell[data-xstate=stale] .jp-InputPrompt::before { background: var(--jp-warn-color1, #f57c00); }
.jp-Cell[data-xstate=edited] .jp-InputPrompt::before { background: var(--jp-info-color1, #0097a7); }
.jp-Cell[data-xstate=failed] .jp-InputPrompt::before { background: var(--jp-error-color1, #d32f2f); }
.jp-Cell[data-xstate=blocked] .jp-InputPrompt::before {
  background: repeating-linear-gradient(45deg, var(--jp-error-color1, #d32f2f) 0 3px, transparent 3px 6px);
}
.jp-Cell[data-xstate=volatile] .jp-InputPrompt::before {
  background: repeating-linear-gradient(0deg, var(--jp-success-color1, #388e3c) 0 3px, transparent 3px 6px);
}
.jp-Cell[data-xstate=running] .jp-InputPrompt::before {
  background: var(--jp-brand-color1, #1976d2); animation: xstate-runs 1s infinite alternate;
}
.jp-Cell[data-xstate=stale] .jp-OutputArea { opacity: 0.55; }
@keyframes xstate-runs { from { opacity: 0.3; } to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { .jp-Cell[data-xstate=running] .jp-InputPrompt::before { animation: none; } }
.xstate-status { display: flex; align-items: center; height: 100%; padding: 0 8px; cursor: pointer; }
`;

  // cellsOf returns the cells with code, in order.
  function cellsOf(panel) {
    const cells = [];
    for (const cell of panel.content.model?.cells ?? []) {
      if (cell.type === "code") {
        cells.push({ id: cell.id, source: cell.sharedModel.getSource() });
      }
    }
    return cells;
  }

  // Panel follows one notebook.
  class Panel {
    constructor(panel, changed) {
      this.panel = panel;
      this.changed = changed; // called when the summary is another one
      this.marks = {}; // id of a cell → {state, why}
      this.ran = {}; // id of a cell → its text when the marks were made
      this.summary = "";
      panel.sessionContext.kernelChanged.connect(() => this.connect());
      panel.sessionContext.statusChanged.connect((_, status) => status === "idle" && this.connect());
      panel.context.ready.then(() => {
        panel.content.model.contentChanged.connect(() => this.show());
      });
      this.connect();
    }

    // connect opens a comm to the kernel, if that is one of xstate and there is none.
    async connect() {
      const kernel = this.panel.sessionContext.session?.kernel;
      if (!kernel || (this.kernel === kernel && this.comm && !this.comm.isDisposed)) {
        return;
      }
      const info = await kernel.info;
      if (info.implementation !== "xstate" || (this.kernel === kernel && this.comm && !this.comm.isDisposed)) {
        return;
      }
      if (this.kernel !== kernel) {
        const execute = kernel.requestExecute.bind(kernel);
        kernel.requestExecute = (content, dispose, metadata) => {
          if (metadata?.cellId && this.marks[metadata.cellId]) {
            this.marks[metadata.cellId] = { state: "running", why: "it runs" };
            this.show();
          }
          return execute(content, dispose, { ...metadata, xstate: { cells: cellsOf(this.panel) } });
        };
      }
      this.kernel = kernel;
      this.comm = kernel.createComm(TARGET);
      this.comm.onMsg = (message) => this.take(message.content.data);
      await this.panel.context.ready;
      this.comm.open({ cells: cellsOf(this.panel) });
    }

    // take shows what the kernel says.
    async take(data) {
      if (data.edited && !this.panel.context.model.dirty) {
        await this.panel.context.revert(); // the file has the edit
        this.comm.send({ cells: cellsOf(this.panel) });
        return;
      }
      for (const widget of this.panel.content.widgets) {
        const outputs = data.outputs?.[widget.model.id];
        if (outputs) {
          widget.model.outputs.fromJSON(outputs);
        }
      }
      if (data.marks) {
        this.marks = data.marks;
        this.summary = data.summary ?? "";
        this.ran = Object.fromEntries(cellsOf(this.panel).map((c) => [c.id, c.source]));
        this.show();
      }
    }

    // show puts the marks into the margin.
    show() {
      for (const widget of this.panel.content.widgets) {
        const mark = this.marks[widget.model.id];
        let { state, why } = mark ?? {};
        if (mark && widget.model.sharedModel.getSource() !== this.ran[widget.model.id] && state !== "running") {
          state = "edited";
          why = "its text is not that which ran";
        }
        const prompt = widget.node.querySelector(".jp-InputPrompt");
        if (state) {
          widget.node.dataset.xstate = state;
          prompt?.setAttribute("title", `${state}: ${why}`);
        } else {
          delete widget.node.dataset.xstate;
          prompt?.removeAttribute("title");
        }
      }
      this.changed(this);
    }

    // stale returns the cells to run.
    stale() {
      return this.panel.content.widgets.filter((w) => ["stale", "edited"].includes(w.node.dataset.xstate));
    }
  }

  function pluginOf({ INotebookTracker, NotebookActions }, IStatusBar, Widget) {
    return {
      id: `${NAME}:plugin`,
      autoStart: true,
      requires: [INotebookTracker],
      optional: [IStatusBar],
      activate: (app, tracker, statusBar) => {
        const style = document.createElement("style");
        style.textContent = STYLE;
        document.head.append(style);
        const panels = new Map();
        const item = new Widget();
        item.addClass("xstate-status");
        item.node.title = "xstate: run the stale cells";
        const sum = () => {
          const current = panels.get(tracker.currentWidget);
          item.node.textContent = current?.comm ? current.summary : "";
        };
        const run = () => {
          const current = panels.get(tracker.currentWidget);
          if (current?.stale().length) {
            NotebookActions.runCells(current.panel.content, current.stale(), current.panel.sessionContext);
          }
        };
        item.node.addEventListener("click", run);
        app.commands.addCommand("xstate:run-stale", { label: "xstate: run the stale cells", execute: run });
        statusBar?.registerStatusItem(NAME, { item, align: "left", rank: 100 });
        const add = (panel) => {
          panels.set(panel, new Panel(panel, sum));
          panel.disposed.connect(() => panels.delete(panel));
        };
        tracker.forEach(add);
        tracker.widgetAdded.connect((_, panel) => add(panel));
        tracker.currentChanged.connect(sum);
      },
    };
  }

  let scope; // name of a shared module → version → {get}
  const shared = async (name) => (await Object.values(scope[name])[0].get())();
  window._JUPYTERLAB = window._JUPYTERLAB ?? {};
  window._JUPYTERLAB[NAME] = {
    init: (given) => {
      scope = given;
    },
    get: async () => {
      const [notebook, { IStatusBar }, { Widget }] = await Promise.all(
        ["@jupyterlab/notebook", "@jupyterlab/statusbar", "@lumino/widgets"].map(shared),
      );
      const plugin = pluginOf(notebook, IStatusBar, Widget);
      return () => ({ __esModule: true, default: plugin });
    },
  };
})();
