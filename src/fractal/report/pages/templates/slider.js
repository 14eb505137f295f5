"use strict";
// The slider over α: all frames are drawn already; this shows those of one value and one signal.
(() => {
  const slider = document.getElementById("alpha");
  if (!slider) return; // a page without it
  const signal = document.getElementById("signal");
  const frames = document.querySelectorAll("#alpha-frames .frame");
  const show = () => {
    const now = (+slider.value).toFixed(2);
    document.getElementById("alpha-value").textContent = now;
    slider.setAttribute("aria-valuetext", `α = ${now}`);
    for (const frame of frames) frame.classList.toggle("now", frame.dataset.frame === now);
    for (const part of document.querySelectorAll("#alpha-frames .signal"))
      part.hidden = part.dataset.signal !== signal.value;
  };
  slider.addEventListener("input", show);
  signal.addEventListener("change", show);
  show();
})();
